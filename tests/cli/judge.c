/* An independent judge of collective calls: times them as the OSU microbenchmarks do (osu_bcast.c and its like: a barrier
 * of the library, MPI_Wtime around the call, the mean over the calls, and of that the mean, the minimum and the maximum
 * over the ranks). It shares no code with the worker.
 *
 *   judge COLLECTIVES SIZES [CALLS]      e.g.  judge bcast,reduce 1,2,4,1024
 *
 * A row per collective and size, in microseconds: mean, minimum and maximum over ranks of the mean over calls, as OSU
 * prints them; and the median over calls of the slowest rank, which an interrupted call does not move.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static char *in, *out;

static void call(const char *name, int bytes)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    if (!strcmp(name, "barrier")) MPI_Barrier(comm);
    else if (!strcmp(name, "bcast")) MPI_Bcast(in, bytes, MPI_CHAR, 0, comm);
    else if (!strcmp(name, "reduce")) MPI_Reduce(in, out, bytes / 4, MPI_INT, MPI_SUM, 0, comm);
    else if (!strcmp(name, "allreduce")) MPI_Allreduce(in, out, bytes / 4, MPI_INT, MPI_SUM, comm);
    else if (!strcmp(name, "alltoall")) MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, comm);
    else if (!strcmp(name, "allgather")) MPI_Allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, comm);
    else if (!strcmp(name, "gather")) MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, comm);
    else if (!strcmp(name, "scatter")) MPI_Scatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, comm);
    else {
        fprintf(stderr, "judge: no collective %s\n", name);
        MPI_Abort(comm, 2);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge(const char *name, int bytes, int wanted)
{
    int large = bytes > 8192, calls = wanted ? wanted : large ? 200 : 1000, skipped = large ? 20 : 200;
    double *times = malloc(calls * sizeof *times), *slowest = malloc(calls * sizeof *slowest);
    double sum = 0, mean, least, most, average;
    in = calloc((size_t)ranks + 1, (size_t)bytes + 8);
    out = calloc((size_t)ranks + 1, (size_t)bytes + 8);
    for (int i = -skipped; i < calls; i++) {
        if (strcmp(name, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        call(name, bytes);
        double taken = (MPI_Wtime() - start) * 1e6;
        if (i >= 0) {
            times[i] = taken;
            sum += taken;
        }
    }
    mean = sum / calls;
    MPI_Reduce(&mean, &average, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mean, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mean, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(times, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(slowest, calls, sizeof *slowest, by_value);
        printf("%s %d %.4f %.4f %.4f %.4f\n", name, bytes, average / ranks, least, most, slowest[calls / 2]);
    }
    free(times), free(slowest), free(in), free(out);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) {
        if (rank == 0) fprintf(stderr, "usage: judge COLLECTIVES SIZES [CALLS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *outer, *inner;
    for (char *name = strtok_r(argv[1], ",", &outer); name; name = strtok_r(NULL, ",", &outer)) {
        char *sizes = strdup(argv[2]);
        for (char *size = strtok_r(sizes, ",", &inner); size; size = strtok_r(NULL, ",", &inner))
            judge(name, atoi(size), argc > 3 ? atoi(argv[3]) : 0);
        free(sizes);
    }
    MPI_Finalize();
    return 0;
}
