#!/usr/bin/env bash
# Samples of a run by an array of Slurm: each element makes one part of them, and the parts, joined, are the bytes
# that one process would have written. Folders of the run and of FILE are on a file system that all nodes share.
#
#   job=$(sbatch --parsable slurm-array.sh RUN NUMBER FILE)
#   sbatch --dependency=afterok:$job --wrap 'landing merge FILE.parts'
#
# Elements that fail or are pre-empted: submit the same line again. Parts that are whole are not made again.

#SBATCH --job-name=landing
#SBATCH --array=1-8            # how many parts: any numbers without holes
#SBATCH --cpus-per-task=4
#SBATCH --mem=1G
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --output=landing-%A-%a.log

set -euo pipefail
if [ $# != 3 ]; then
  echo "usage: sbatch slurm-array.sh RUN NUMBER FILE" >&2
  exit 2
fi
# --shard auto reads SLURM_ARRAY_TASK_ID, _COUNT, _MIN and _STEP. Results do not depend on --workers.
exec "${LANDING:-landing}" generate "$1" -n "$2" -o "$3" --shard auto --workers "${SLURM_CPUS_PER_TASK:-1}"
