/* A program that starts two more ranks of itself, or that ends without MPI_Finalize: `tests/cli/profile.rs` counts its calls. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Comm parent, children;
    int value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        for (int call = 0; call < 10; call++)
            MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Comm_disconnect(&parent);
    } else {
        for (int call = 0; call < 1000; call++)
            MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (argc > 1 && !strcmp(argv[1], "_exit"))
            _exit(3);
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&children);
    }
    MPI_Finalize();
    return 0;
}
