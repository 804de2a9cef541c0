#!/usr/bin/env bash
# Runs libFuzzer for each target in turn: run.sh PROGRAM WORK-FOLDER SECONDS-IN-ALL SEED [TARGET...]
# New inputs stay in the work folder, and one that breaks a rule too, as TARGET-crash-... and the like.
set -euo pipefail

program=$1 work=$2 seconds=$3 seed=$4
shift 4
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  targets=(gzip zip tar sevenzip index blocks tools table multipart http digests xml tus differential)
fi
each=$((seconds / ${#targets[@]}))
seeds=$(dirname "$0")/Seeds

# The index files of a crashed process disappear with the folder; in memory where there is such a file system.
TMPDIR=$(mktemp -d -p "$(test -d /dev/shm && echo /dev/shm || echo "${TMPDIR:-/tmp}")" BlobStreams-fuzz-XXXXXX)
trap 'rm -rf "$TMPDIR"' EXIT
# The report of a crash is that of libFuzzer, with the input.
export TMPDIR SWIFT_BACKTRACE=enable=no

status=0
for target in "${targets[@]}"; do
  mkdir -p "$work/$target"
  log=$work/$target.log
  if FUZZ_TARGET=$target "$program" "$work/$target" "$seeds/$target" -max_total_time="${each}" -seed="$seed" -timeout=20 \
    -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$work/$target-" >"$log" 2>&1; then
    grep -aE '^#[0-9]+[[:space:]]+DONE' "$log" | sed "s/^/$target: /"
  else
    status=1
    grep -aE 'Fatal error|ERROR: |Test unit written|^#[0-9]+.*(NEW|REDUCE|pulse)' "$log" | tail -n 6 | sed "s/^/$target: /"
  fi
done
exit $status
