# Shared by the scripts of this folder, which source it under `set -euo pipefail`.
# shellcheck shell=bash

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
runtime_venv=$root/.venv

say() { printf 'gemmwatch: %s\n' "$*"; }

# Ends the script with the code for bad usage or an unmet need.
die() {
  printf 'gemmwatch: %s\n' "$*" >&2
  exit 2
}

# parse_options ARGUMENT...: sets `out` to what --out says, else to nothing, and `options` to all the
# rest; answers --help by the script's own usage.
# shellcheck disable=SC2034  # the callers read them
parse_options() {
  out='' options=()
  while (($# > 0)); do
    case $1 in
      --help | -h)
        usage
        exit 0
        ;;
      --out)
        (($# > 1)) || die "--out needs a folder"
        out=$2
        shift
        ;;
      --out=*) out=${1#--out=} ;;
      *) options+=("$1") ;;
    esac
    shift
  done
}

# Runs a command whose output matters only if it fails.
quietly() {
  local log code=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || code=$?
  if ((code != 0)); then cat "$log" >&2; fi
  rm -f "$log"
  return "$code"
}

# ---- Python ------------------------------------------------------------------------------------

# lacks PYTHON [EXTRA...]: prints the requirements of pyproject.toml, with those of the optional
# groups named, that an interpreter lacks; fails if there are any.
lacks() { "$1" "$root/scripts/missing_requirements.py" "${@:2}" 2>/dev/null; }

# True if the virtual environment DIR was completely installed from LOCK as it is now, and its
# interpreter still is the one that it was installed for.
venv_is_whole() {
  local dir=$1 lock=$2
  sha256sum --status -c "$dir/lock.sha256" <"$lock" 2>/dev/null &&
    "$dir/bin/python" -c 'import pip' 2>/dev/null
}

# Makes the virtual environment DIR hold exactly LOCK. The stamp is written last, so that an
# interrupted installation is known for what it is and remade.
make_venv() {
  local dir=$1 lock=$2
  rm -rf "$dir"
  python3 -m venv "$dir" &&
    quietly "$dir/bin/python" -m pip install --require-hashes -r "$lock" &&
    sha256sum <"$lock" >"$dir/lock.sha256"
}

# python_path [EXTRA...]: prints the interpreter that judges and draws: the local virtual
# environment if it is whole, since the lock holds every extra, else a python3 that brings every
# package itself, as on an image that never sees a network.
# shellcheck disable=SC2120  # most callers need no extra
python_path() {
  if venv_is_whole "$runtime_venv" "$root/requirements.lock"; then
    echo "$runtime_venv/bin/python"
  elif lacks python3 "$@" >/dev/null; then
    command -v python3
  else
    return 1
  fi
}

# ---- C++ and CUDA ------------------------------------------------------------------------------

# Sets `preset` to what this machine can build.
# shellcheck disable=SC2034  # the callers read it
choose_preset() {
  local nvcc
  if nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc); then
    export CUDACXX=$nvcc
    preset=cuda
  else
    say "no CUDA toolkit: CPU only"
    preset=cpu
  fi
}

# After choose_preset: can this machine run what it builds?
has_gpu() { [[ $preset == cuda ]] && nvidia-smi -L >/dev/null 2>&1; }

configure() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  fi
  # Ninja itself reconfigures when a CMakeLists.txt changes, but does not know of the presets.
  if [[ $root/build/$1/build.ninja -nt $root/CMakePresets.json ]]; then return; fi
  (cd "$root" && quietly cmake --preset "$1") ||
    die "cmake cannot configure build/$1; its output is above"
}

# build PRESET [TARGET...]: all that a user needs, unless targets are named.
build() {
  local show=quietly targets=("${@:2}")
  if [[ -t 1 ]]; then show=; fi # a terminal sees ninja's progress
  say "building build/$1"
  configure "$1"
  (cd "$root" && $show cmake --build --preset "$1" "${targets[@]/#/--target=}") ||
    die "the build failed; its output is above"
}

# check_results LOG [FLAG...]: a wrong answer has no time, so what fails here is not measured; ends
# the script.
check_results() {
  local log=$1 code=0
  say "checking results"
  "$root/build/$preset/correctness/gemmwatch-check" --gtest_brief=1 "${@:2}" >"$log" 2>&1 ||
    code=$?
  tail -n 3 "$log"
  if ((code != 0)); then
    grep -F '[  FAILED  ]' "$log" >&2 || true
    say "incorrect results (gemmwatch-check ended with $code); all of it: $log" >&2
    exit 3
  fi
}
