/* An MPI library whose own choice for MPI_Allreduce takes 300 us longer than its forced algorithms, and what programs can
 * call instead 100 us or more: the cure is several times as fast as any mock-up. */
#include <mpi.h>

#define MOST 4096
static MPI_Comm forced[MOST];
static int many = 0;

/* What coll_tuned_allreduce_algorithm is now: communicators that are made keep it. */
static int algorithm(void) {
    int index, count, value = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index("coll_tuned_allreduce_algorithm", &index) != MPI_SUCCESS) return 0;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS) return 0;
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return value;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    int code = PMPI_Comm_dup(comm, made);
    if (code == MPI_SUCCESS && algorithm() != 0 && many < MOST) forced[many++] = *made;
    return code;
}

int MPI_Comm_free(MPI_Comm *comm) {
    for (int at = 0; at < many; at++) {
        if (forced[at] == *comm) forced[at--] = forced[--many];
    }
    return PMPI_Comm_free(comm);
}

static int is_forced(MPI_Comm comm) {
    for (int at = 0; at < many; at++) {
        if (forced[at] == comm) return 1;
    }
    return 0;
}

/* Not by a factor: that would make the next call of a rank that waits longer still. */
#define SLOWED(microseconds, call)                                          \
    int code = call;                                                        \
    double end = PMPI_Wtime() + 1e-6 * (microseconds);                      \
    while (PMPI_Wtime() < end) {}                                           \
    return code

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    SLOWED(is_forced(comm) ? 0.0 : 300.0, PMPI_Allreduce(send, receive, count, type, op, comm));
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    SLOWED(100.0, PMPI_Reduce(send, receive, count, type, op, root, comm));
}

int MPI_Allgather(const void *send, int sent, MPI_Datatype from, void *receive, int received, MPI_Datatype to,
                  MPI_Comm comm) {
    SLOWED(100.0, PMPI_Allgather(send, sent, from, receive, received, to, comm));
}

int MPI_Reduce_scatter_block(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    SLOWED(100.0, PMPI_Reduce_scatter_block(send, receive, count, type, op, comm));
}

int MPI_Reduce_scatter(const void *send, void *receive, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    SLOWED(100.0, PMPI_Reduce_scatter(send, receive, counts, type, op, comm));
}
