/* Sums of numbers whose magnitudes differ by 12 decades: for each call a line per rank with a hash of its result, so that
   tests can compare the order in which calls sum up.

   bits SEEDS COUNT...   elements of the whole vector; of a rank's block for reduce_scatter_block.

   A line is: collective, type, elements, seed, the call with it, root, rank, hash. */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that follows from a seed, a rank and a place: 2^0 to 2^40 times a random mantissa, of either sign. */
static uint64_t mixed(uint64_t seed, uint64_t rank, uint64_t place)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u + place * 0x94d049bb133111ebu;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill(void *data, int is_double, int count, int seed, int rank)
{
    for (int at = 0; at < count; at++) {
        uint64_t bits = mixed(seed, rank, at);
        uint64_t sign = bits & 1, power = (bits >> 1 & 0xffff) % 41;
        if (is_double) {
            uint64_t value = sign << 63 | (1023 + power) << 52 | bits >> 12;
            memcpy((char *)data + 8 * (size_t)at, &value, 8);
        } else {
            uint32_t value = (uint32_t)(sign << 31 | (127 + power) << 23 | bits >> 41);
            memcpy((char *)data + 4 * (size_t)at, &value, 4);
        }
    }
}

static uint64_t hash(const unsigned char *data, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t at = 0; at < length; at++)
        hash = (hash ^ data[at]) * 0x100000001b3u;
    return hash;
}

int main(int argc, char **argv)
{
    static const char *names[] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int seeds = atoi(argv[1]);
    int *counts = malloc(ranks * sizeof(int));
    uint64_t *all = malloc(ranks * sizeof(uint64_t));
    for (int which = 0; which < 6; which++)
        for (int is_double = 0; is_double < 2; is_double++)
            for (int argument = 2; argument < argc; argument++)
                for (int seed = 1; seed <= seeds; seed++)
                    for (int again = 0; again < (which == 1 ? 4 : 2); again++) {
                        int root = again < 2 ? 0 : ranks - 1;
                        int count = atoi(argv[argument]), whole = which == 3 ? count * ranks : count, own = count;
                        MPI_Datatype type = is_double ? MPI_DOUBLE : MPI_FLOAT;
                        size_t size = is_double ? 8 : 4;
                        char *sent = malloc(size * whole + 1), *result = calloc(size * whole + 1, 1);
                        fill(sent, is_double, whole, seed, rank);
                        for (int other = 0; other < ranks; other++)
                            counts[other] = count / ranks + (other < count % ranks);
                        if (which == 0)
                            MPI_Allreduce(sent, result, count, type, MPI_SUM, MPI_COMM_WORLD);
                        else if (which == 1)
                            MPI_Reduce(sent, result, count, type, MPI_SUM, root, MPI_COMM_WORLD);
                        else if (which == 2)
                            MPI_Reduce_scatter(sent, result, counts, type, MPI_SUM, MPI_COMM_WORLD);
                        else if (which == 3)
                            MPI_Reduce_scatter_block(sent, result, count, type, MPI_SUM, MPI_COMM_WORLD);
                        else if (which == 4)
                            MPI_Scan(sent, result, count, type, MPI_SUM, MPI_COMM_WORLD);
                        else
                            MPI_Exscan(sent, result, count, type, MPI_SUM, MPI_COMM_WORLD);
                        if (which == 2)
                            own = counts[rank];
                        if ((which == 1 && rank != root) || (which == 5 && rank == 0))
                            own = 0;
                        uint64_t mine = hash((unsigned char *)result, size * own);
                        MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
                        for (int other = 0; rank == 0 && other < ranks; other++)
                            printf("%s %s %d %d %d %d %d %016llx\n", names[which], is_double ? "double" : "float", count,
                                   seed, again, root, other, (unsigned long long)all[other]);
                        free(sent);
                        free(result);
                    }
    free(counts);
    free(all);
    MPI_Finalize();
    return 0;
}
