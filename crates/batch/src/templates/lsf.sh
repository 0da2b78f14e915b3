#!/bin/bash -l
# Written from the manual of LSF, not run on a real one: read it before you submit it.
#BSUB -J collrules[1-{array}]
#BSUB -J collrules{!array}
#BSUB -n {ranks}
#BSUB -R "span[ptile={ppn}]"
#BSUB -W {minutes}
#BSUB -q {partition}
#BSUB -P {account}
#BSUB -R "select[{constraint}]"
#BSUB -x{?exclusive}
#BSUB -o {quote}{log}-%J_%I.log{quote}{?array}
#BSUB -o {quote}{log}-%J.log{quote}{!array}
#BSUB -r
#BSUB {directive}

module load {module}

# The log goes to {home}, which has to be there before the job starts.
run={home}/task-$LSB_JOBINDEX{?array}
run={home}{!array}
# Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.
if [ -n "$(ls {begun} 2> /dev/null)" ]; then
    exec {program} {resumed} --resume "$run"
fi
exec {program} {command} --seed "$LSB_JOBINDEX" --out "$run"{?array}
exec {program} {command} --out "$run"{!array}
