#!/bin/bash -l
# Written from the manual of PBS, not run on a real one: read it before you submit it.
#PBS -N collrules
#PBS -l select={nodes}:ncpus={ppn}:mpiprocs={ppn}:{constraint}
#PBS -l select={nodes}:ncpus={ppn}:mpiprocs={ppn}{!constraint}
#PBS -l walltime={hours}
#PBS -q {partition}
#PBS -A {account}
#PBS -l place=scatter:excl{?exclusive}
#PBS -l place=scatter{!exclusive}
#PBS -J 1-{array}
#PBS -j oe
#PBS -o {quote}{log}-^array_index^.log{quote}{?array}
#PBS -o {quote}{log}.log{quote}{!array}
#PBS -r y
#PBS {directive}

module load {module}

# The log goes to {home}, which has to be there before the job starts.
run={home}/task-$PBS_ARRAY_INDEX{?array}
run={home}{!array}
# Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.
if [ -n "$(ls {begun} 2> /dev/null)" ]; then
    exec {program} {resumed} --resume "$run"
fi
exec {program} {command} --seed "$PBS_ARRAY_INDEX" --out "$run"{?array}
exec {program} {command} --out "$run"{!array}
