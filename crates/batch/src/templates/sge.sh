#!/bin/bash -l
# Written from the manual of Grid Engine, not run on a real one: read it before you submit it.
#$ -S /bin/bash
#$ -N collrules
#$ -pe {environment} {ranks}
#$ -l h_rt={hours}
#$ -q {partition}
#$ -P {account}
#$ -l {constraint}
#$ -l exclusive=true{?exclusive}
#$ -t 1-{array}
#$ -j y
#$ -o {quote}{log}-$JOB_ID_$TASK_ID.log{quote}{?array}
#$ -o {quote}{log}-$JOB_ID.log{quote}{!array}
#$ -r y
#$ -cwd
#$ {directive}

module load {module}

# The log goes to {home}, which has to be there before the job starts.
run={home}/task-$SGE_TASK_ID{?array}
run={home}{!array}
# Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.
if [ -n "$(ls {begun} 2> /dev/null)" ]; then
    exec {program} {resumed} --resume "$run"
fi
exec {program} {command} --seed "$SGE_TASK_ID" --out "$run"{?array}
exec {program} {command} --out "$run"{!array}
