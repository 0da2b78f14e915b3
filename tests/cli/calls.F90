! Calls that are known, on 2 ranks, by each of Fortran's bindings: `tests/cli/profile.rs` counts them.
program calls
#if defined(F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer :: error, rank, i
  double precision :: x(50), y(100)
#ifdef F08
  type(MPI_Comm) :: other
  type(MPI_Request) :: request
#else
  integer :: other, request
#endif
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  x = rank
  do i = 1, 4
    call MPI_Bcast(x, 50, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD, error)
  end do
  do i = 1, 3
    call MPI_Allreduce(MPI_IN_PLACE, x, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Comm_dup(MPI_COMM_WORLD, other, error)
  call MPI_Alltoall(x, 5, MPI_DOUBLE_PRECISION, y, 5, MPI_DOUBLE_PRECISION, other, error)
  call MPI_Comm_free(other, error)
  call MPI_Ibcast(x, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (rank == 0) print *, 'done'
  call MPI_Finalize(error)
end program calls
