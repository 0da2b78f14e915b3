/* A library that calls itself another MPI, with as much of it as a program needs that begins and ends. */
#include <string.h>

#ifdef PROGRAM
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
#else
int MPI_Init(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

int MPI_Finalize(void) { return 0; }

int PMPI_Get_library_version(char *text, int *length) {
    strcpy(text, "MPICH Version:      4.1.2\nMPICH Release date: long ago\n");
    *length = (int)strlen(text);
    return 0;
}
#endif
