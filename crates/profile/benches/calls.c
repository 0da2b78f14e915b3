/* Makes calls on one rank, where they do least: "NAME COUNT" on standard input, nanoseconds on standard output. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
    char name[32];
    long count;
    double in = 1, out;
    int one = 1, place = 0;
    MPI_Init(&argc, &argv);
    while (scanf("%31s %ld", name, &count) == 2) {
        int flag, known = 1;
        double begin = now();
        if (strcmp(name, "barrier") == 0) {
            for (long i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD);
        } else if (strcmp(name, "bcast") == 0) {
            for (long i = 0; i < count; i++) MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        } else if (strcmp(name, "sizes") == 0) {
            static char bytes[4096];
            for (long i = 0; i < count; i++) MPI_Bcast(bytes, i % 4096, MPI_BYTE, 0, MPI_COMM_WORLD);
        } else if (strcmp(name, "allreduce") == 0) {
            for (long i = 0; i < count; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        } else if (strcmp(name, "allgatherv") == 0) {
            for (long i = 0; i < count; i++)
                MPI_Allgatherv(&in, 1, MPI_DOUBLE, &out, &one, &place, MPI_DOUBLE, MPI_COMM_WORLD);
        } else if (strcmp(name, "iprobe") == 0) {
            for (long i = 0; i < count; i++)
                MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        } else {
            known = 0;
        }
        printf("%.0f\n", known ? now() - begin : -1.0);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
