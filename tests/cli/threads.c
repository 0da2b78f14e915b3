/* Four threads of each rank call at once, each on a communicator of its own: `tests/cli/profile.rs` counts the calls. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TURNS = 2000 };

static MPI_Comm comms[THREADS];

static void *calls(void *which) {
    MPI_Comm comm = *(MPI_Comm *)which;
    int thread = (int)((MPI_Comm *)which - comms), sum;
    char bytes[64];
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Bcast(bytes, 8 * (thread + 1), MPI_BYTE, 0, comm);
        if (turn % 2 == 0) MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, calls, &comms[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    printf("done\n");
    return 0;
}
