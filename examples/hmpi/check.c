/* Gathers and scatters known bytes of sizes that do not divide, in pieces, and checks every byte: with the sizes of hmpi.h, which
 * were measured, or, with -DODD, with odd ones. */
#include <stdio.h>

#ifdef ODD
#define HMPI_M1 1000
#define HMPI_M2 20000
#define HMPI_S 1500
#endif
#include "hmpi.h"

/* Sizes that no message of this program reaches are not tried. */
enum { MOST = 1 << 20 };

static unsigned char known(int rank, int at) { return (unsigned char)(31 * rank + 7 * at + at / 251); }

int main(int argc, char **argv) {
    static const long long sizes[] = {0, 1, 3333, HMPI_M1 - 1, HMPI_M1, HMPI_M1 + 1LL, 2 * (HMPI_M1 + 1LL) + 1, HMPI_M2 - 1, HMPI_M2,
                                      HMPI_M2 + 1LL, HMPI_S, HMPI_S + 1LL, 3LL * HMPI_S + 1};
    MPI_Init(&argc, &argv);
    int rank, ranks, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int root = 0; root < ranks; root += ranks > 1 ? ranks - 1 : 1) {
        for (size_t number = 0; number < sizeof sizes / sizeof *sizes; number++) {
            if (sizes[number] > MOST) continue;
            int bytes = (int)sizes[number];
            unsigned char *own = malloc(bytes + 1), *all = malloc((size_t)ranks * bytes + 1);
            for (int at = 0; at < bytes; at++) own[at] = known(rank, at);
            memset(all, 0, (size_t)ranks * bytes + 1);
            if (HMPI_Gather(own, bytes, all, root, MPI_COMM_WORLD) != MPI_SUCCESS) wrong++;
            for (int from = 0; rank == root && from < ranks; from++)
                for (int at = 0; at < bytes; at++) wrong += all[(size_t)from * bytes + at] != known(from, at);
            memset(own, 0, bytes + 1);
            if (HMPI_Scatter(all, own, bytes, root, MPI_COMM_WORLD) != MPI_SUCCESS) wrong++;
            for (int at = 0; at < bytes; at++) wrong += own[at] != known(rank, at);
            free(own);
            free(all);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d bytes are wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
