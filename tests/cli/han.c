/* Broadcasts so many bytes as each argument says, and prints which of them fail: what serves them is up to rules files. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int argument = 1; argument < argc; argument++) {
        int bytes = atoi(argv[argument]);
        char *data = calloc(1, (size_t)bytes + 1);
        int failed = MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
        free(data);
        if (rank == 0) {
            printf("%d %s\n", bytes, failed ? "fails" : "works");
        }
    }
    MPI_Finalize();
    return EXIT_SUCCESS;
}
