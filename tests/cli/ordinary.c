/* An ordinary MPI program: it knows nothing of rules files, and checks what it gets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    enum { COUNT = 16384, CALLS = 100 };
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int call = 0; call < CALLS; call++) {
        static int data[COUNT]; /* 64 KiB */
        for (int i = 0; i < COUNT; i++) {
            data[i] = rank == 0 ? call + i : -1;
        }
        MPI_Bcast(data, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            if (data[i] != call + i) {
                fprintf(stderr, "rank %d: wrong data\n", rank);
                MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
            }
        }
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
