#!/usr/bin/env bash
# Works through studies in several processes at once, which share one GPU under MPS.
#
#     bash benchmarks/lanes.sh SECONDS RUNS RECORDS 'first.json second.json' 'third.json'
#
# Each argument after the folders is a lane: a process that does its studies in order (see study.py). A run that
# another lane has is left to it. After SECONDS all are told to stop and to save, and have a minute for it; the same
# command goes on. What a lane says is in RUNS/lane-N.log. Several processes get more done together than one after the
# other, since none fills the card all the time; while one compiles the others train. Ends with 1 if a lane did.
set -euo pipefail
seconds=$1
mkdir -p "$2" "$3"
runs=$(realpath "$2") records=$(realpath "$3")
shift 3
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD/src" JAX_COMPILATION_CACHE_DIR="${JAX_COMPILATION_CACHE_DIR:-$runs/compiled}"
# Nine tenths of the memory in equal shares: what is left is MPS's and the driver's.
export XLA_PYTHON_CLIENT_MEM_FRACTION="$(awk "BEGIN {printf \"%.2f\", 0.9 / $#}")"
if command -v nvidia-cuda-mps-control > /dev/null && ! pgrep -x nvidia-cuda-mps > /dev/null; then
  nvidia-cuda-mps-control -d
fi
# The shell starts what runs in the background deaf to Ctrl-C; Python is told to listen again.
listen='import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name="__main__")'
lanes=()
for studies in "$@"; do
  # shellcheck disable=SC2086 -- a lane is a list of files
  timeout --signal INT --kill-after 60 "$seconds" "${PYTHON:-python3}" -c "$listen" benchmarks/study.py $studies \
    --runs "$runs" --results "$records" < /dev/null >> "$runs/lane-$((${#lanes[@]} + 1)).log" 2>&1 &
  lanes+=("$!")
done
status=0
for lane in "${!lanes[@]}"; do
  code=0
  wait "${lanes[$lane]}" || code=$?
  # 124 is what `timeout` says of a lane that it stopped.
  if [ "$code" != 0 ] && [ "$code" != 124 ]; then
    echo "lane $((lane + 1)) ended with $code: see $runs/lane-$((lane + 1)).log" >&2
    status=1
  fi
done
exit "$status"
