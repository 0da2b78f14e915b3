/* Made from 8 virtual hosts behind switch ports of 16 kB (Open MPI 4.1.4), 8 ranks: gathers stall above 4KiB, and up to 5KiB, scatters leap above: none. */
#ifndef HMPI_M1
#define HMPI_M1 4096
#define HMPI_M2 5120
#define HMPI_S 2147483647
#endif

/* Gathers and scatters in pieces, after Lastovetsky, O'Flynn and Rychkov (HeteroMPI, 2007): messages of the sizes at which a
 * gather stalls or leaps, or a scatter leaps, go in several calls. `collrules lab irregular` makes this file with the sizes that it found; a
 * program that defines them before it includes the file has its own:
 *
 *   HMPI_M1  the largest message with which a gather does not stall, or before it leaps
 *   HMPI_M2  the largest message with which it does, or with which pieces of that size are faster
 *   HMPI_S   the largest message before a scatter leaps
 *   HMPI_S2  the largest message with which pieces of that size are faster; without it, all longer ones
 *
 * All ranks take part with the same number of bytes, and no rank passes MPI_IN_PLACE. */
#ifndef HMPI_H
#define HMPI_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#ifndef HMPI_S2
#define HMPI_S2 2147483647
#endif

/* A program need not call both. */
#if defined(__GNUC__)
#define HMPI_FUNCTION __attribute__((unused)) static
#else
#define HMPI_FUNCTION static
#endif

/* Calls for so many bytes: the fewest of which none has more than `most`. */
HMPI_FUNCTION int hmpi_pieces(int bytes, int most) { return bytes <= most ? 1 : (bytes - 1) / most + 1; }

/* Bytes of a piece, and where it begins. They differ by one byte at most. */
HMPI_FUNCTION int hmpi_begin(int bytes, int pieces, int piece) { return (int)((long long)bytes * piece / pieces); }

HMPI_FUNCTION int HMPI_Gather(const void *send, int bytes, void *receive, int root, MPI_Comm comm) {
    int pieces = bytes > HMPI_M1 && bytes <= HMPI_M2 ? hmpi_pieces(bytes, HMPI_M1) : 1;
    if (pieces == 1) return MPI_Gather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, comm);
    int rank, ranks, error = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    char *part = rank == root ? (char *)malloc((size_t)ranks * ((size_t)bytes / (size_t)pieces + 1)) : NULL;
    if (rank == root && !part) return MPI_ERR_NO_MEM;
    for (int piece = 0; piece < pieces && error == MPI_SUCCESS; piece++) {
        int begin = hmpi_begin(bytes, pieces, piece), length = hmpi_begin(bytes, pieces, piece + 1) - begin;
        /* Without it the ranks that are through would send their next piece into the same queue. */
        if (piece > 0) MPI_Barrier(comm);
        error = MPI_Gather((const char *)send + begin, length, MPI_BYTE, part, length, MPI_BYTE, root, comm);
        for (int from = 0; rank == root && from < ranks; from++)
            memcpy((char *)receive + (size_t)from * (size_t)bytes + begin, part + (size_t)from * (size_t)length, (size_t)length);
    }
    free(part);
    return error;
}

HMPI_FUNCTION int HMPI_Scatter(const void *send, void *receive, int bytes, int root, MPI_Comm comm) {
    int pieces = bytes > HMPI_S && bytes <= HMPI_S2 ? hmpi_pieces(bytes, HMPI_S) : 1;
    if (pieces == 1) return MPI_Scatter(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, root, comm);
    int rank, ranks, error = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    char *part = rank == root ? (char *)malloc((size_t)ranks * ((size_t)bytes / (size_t)pieces + 1)) : NULL;
    if (rank == root && !part) return MPI_ERR_NO_MEM;
    for (int piece = 0; piece < pieces && error == MPI_SUCCESS; piece++) {
        int begin = hmpi_begin(bytes, pieces, piece), length = hmpi_begin(bytes, pieces, piece + 1) - begin;
        for (int to = 0; rank == root && to < ranks; to++)
            memcpy(part + (size_t)to * (size_t)length, (const char *)send + (size_t)to * (size_t)bytes + begin, (size_t)length);
        error = MPI_Scatter(part, length, MPI_BYTE, (char *)receive + begin, length, MPI_BYTE, root, comm);
    }
    free(part);
    return error;
}

#endif
