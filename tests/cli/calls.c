/* Calls that are known, on 4 ranks: `tests/cli/profile.rs` counts them. With an argument it does not end well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char bytes[4096], more[4096];

#ifdef PROFILES_ITSELF
static int own;
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    own++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}
#endif

static void last(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    memcpy(inout, inout, 0);
    (void)in;
    (void)count;
}

/* MPIX_Bcast_init up to 4.1, MPI_Bcast_init from 5.0 on. */
static void prepared(void) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    const char *name = strstr(library, "v4.") ? "MPIX_Bcast_init" : "MPI_Bcast_init";
    int (*init)(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *) = dlsym(RTLD_DEFAULT, name);
    MPI_Request request;
    init(bytes, 200, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

int main(int argc, char **argv) {
    const char *end = argc > 1 ? argv[1] : "";
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int counts[4] = {1, 2, 3, 4}, places[4] = {0, 1, 3, 6}, own_counts[4], own_places[4];
    for (int i = 0; i < 5; i++) MPI_Bcast(bytes, 1000, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (strcmp(end, "late") == 0) {
        for (int i = 0; i < 4; i++) {
            if (rank == 0) usleep(50000);
            MPI_Bcast(bytes, 3000, MPI_BYTE, 0, MPI_COMM_WORLD);
        }
    }
    if (strcmp(end, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(end, "kill") == 0) {
        sleep(2);
        if (rank == 1) raise(SIGKILL);
    }
    for (int i = 0; i < 3; i++) MPI_Bcast(bytes, 1001, MPI_BYTE, i % size, MPI_COMM_WORLD);
    MPI_Comm dup, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < 2; i++) MPI_Bcast(bytes, 1000, MPI_BYTE, 0, dup);
    MPI_Comm_free(&dup);
    for (int i = 0; i < 7; i++) MPI_Allreduce(MPI_IN_PLACE, bytes, 50, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Op op;
    MPI_Op_create(last, 0, &op);
    for (int i = 0; i < 2; i++) MPI_Allreduce(bytes, more, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    for (int i = 0; i < 3; i++) MPI_Reduce(bytes, more, 20, MPI_DOUBLE, MPI_MAX, 2, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Reduce_scatter(bytes, more, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Reduce_scatter_block(bytes, more, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(bytes, more, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(bytes, more, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Gather(bytes, 8, MPI_BYTE, more, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Scatter(bytes, rank ? 0 : 16, MPI_BYTE, more, 16, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gatherv(bytes, rank + 1, MPI_INT, more, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(bytes, counts, places, MPI_INT, more, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(bytes, rank + 1, MPI_INT, more, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Alltoall(bytes, 24, MPI_BYTE, more, 24, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        own_counts[i] = rank + 1;
        own_places[i] = i * (rank + 1);
    }
    MPI_Alltoallv(bytes, own_counts, own_places, MPI_INT, more, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    int twos[4] = {2, 2, 2, 2}, offsets[4] = {0, 8, 16, 24};
    MPI_Alltoallw(bytes, twos, offsets, types, more, twos, offsets, types, MPI_COMM_WORLD);
    MPI_Datatype vector;
    MPI_Type_vector(10, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Bcast(bytes, 1, vector, 0, MPI_COMM_WORLD);
    MPI_Type_free(&vector);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    for (int i = 0; i < 3; i++) MPI_Allgather(bytes, 4, MPI_DOUBLE, more, 4, MPI_DOUBLE, half);
    for (int i = 0; i < 6; i++) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++) {
        MPI_Ibcast(bytes, 64, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    prepared();
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Sendrecv(bytes, 8, MPI_BYTE, next, 1, more, 8, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifdef PROFILES_ITSELF
    if (rank == 0) printf("counted %d broadcasts\n", own);
#endif
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return strcmp(end, "fail") == 0 ? 3 : 0;
}
