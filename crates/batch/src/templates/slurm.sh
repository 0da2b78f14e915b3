#!/bin/bash -l
#SBATCH --job-name=collrules
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={ppn}
#SBATCH --time={hours}
#SBATCH --partition={partition}
#SBATCH --account={account}
#SBATCH --qos={qos}
#SBATCH --constraint={quoted_constraint}
#SBATCH --exclusive{?exclusive}
#SBATCH --array=1-{array}
#SBATCH --output={quote}{log}-%A_%a.log{quote}{?array}
#SBATCH --output={quote}{log}-%j.log{quote}{!array}
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH {directive}

module load {module}

# The log goes to {home}, which has to be there before the job starts.
run={home}/task-$SLURM_ARRAY_TASK_ID{?array}
run={home}{!array}
# Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.
if [ -n "$(ls {begun} 2> /dev/null)" ]; then
    exec {program} {resumed} --resume "$run"
fi
exec {program} {command} --seed "$SLURM_ARRAY_TASK_ID" --out "$run"{?array}
exec {program} {command} --out "$run"{!array}
