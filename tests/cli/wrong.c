/* An MPI library with a fault: MPI_Scan is off by one in the last element on the last rank. */
#include <mpi.h>

int MPI_Scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int code = PMPI_Scan(send, receive, count, type, op, comm);
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank == ranks - 1 && count > 0 && type == MPI_INT32_T) {
        ((int *)receive)[count - 1]++;
    }
    return code;
}
