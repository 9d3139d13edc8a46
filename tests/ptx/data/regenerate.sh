#!/bin/sh
# Makes the PTX of the probes with nvcc 13 (only developers need this; the tests read the results). Debug
# sections and comments are dropped: they are most of what -G writes, and the parser skips them.
#   regenerate.sh [OUTPUT_FOLDER [all]]   "all": every probe with every option on sm_75, sm_90 and sm_100
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
nvcc=${NVCC:-/usr/local/cuda/bin/nvcc}

make_one() { # probe architecture suffix options...
  probe=$1 arch=$2 suffix=$3
  shift 3
  file=$out/$probe.sm_$arch${suffix:+.$suffix}.ptx
  (cd "$here" && "$nvcc" -std=c++17 -ptx -arch="sm_$arch" "$@" "$probe.cu" -o "$file.full")
  awk '/^[ \t]*\.section/ { skip = 1 } !skip && !/^[ \t]*\/\// { print } skip && /}/ { skip = 0 }' "$file.full" > "$file"
  sed -i 's#^\(\s*\.file\s*[0-9]* \)"/.*/#\1"#' "$file"  # no folders of the developer's machine
  rm "$file.full"
}

if [ "${2:-}" = all ]; then
  for probe in probe_language probe_parallel probe_math; do
    for arch in 75 90 100; do
      make_one $probe $arch ""
      make_one $probe $arch fast -use_fast_math
      make_one $probe $arch debug -G
      make_one $probe $arch lineinfo -lineinfo
    done
  done
  exit 0
fi
make_one probe_language 75 ""
make_one probe_language 75 debug -G
make_one probe_language 100 ""
make_one probe_language 100 lineinfo -lineinfo
make_one probe_parallel 75 ""
make_one probe_parallel 90 lineinfo -lineinfo
make_one probe_parallel 100 ""
make_one probe_math 75 ""
make_one probe_math 90 fast -use_fast_math
make_one probe_math 100 ""
