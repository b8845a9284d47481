#!/usr/bin/env bash
# Works through the queue of studies, queue.txt, for some time; the same command goes on from there.
#
#     bash benchmarks/queue.sh SECONDS LANES RUNS RECORDS
#
# Every lane (see lanes.sh) has the whole queue, and takes the first run that has no record and no other lane.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1 lanes=$2 runs=$3 records=$4
queue=$(sed 's|.*|benchmarks/studies/&.json|' benchmarks/queue.txt | tr '\n' ' ')
all=()
for ((lane = 0; lane < lanes; lane++)); do all+=("$queue"); done
exec bash benchmarks/lanes.sh "$seconds" "$runs" "$records" "${all[@]}"
