#!/usr/bin/env bash
# Installs into a folder, moves it, and uses all that is there: install.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "install.sh: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$place/first" >/dev/null
mv "$place/first" "$place/moved"
root=$place/moved
export GPUMUX_CACHE=$place/cache
export PATH=$root/bin:$PATH
cd "$place"

# The program, alone and with what lies beside it.
[[ $(gpumux --version) =~ ^gpumux\ [0-9]+\.[0-9]+\.[0-9]+(\ \(commit\ [0-9a-f]{12}(,\ changed)?\))?$ ]] ||
  fail "version: $(gpumux --version)"
gpumux run add --cycles 2K --set sms=2 --quiet
gpumux run add --machine "$root/share/gpumux/machines/v100.toml" --cycles 2K --set sms=2 --quiet
gpumux sweep "$root/share/gpumux/experiments/basics/pairs.toml" --scale nothing --db a.sqlite 2>said || true
grep -q "known: " said || fail "the installed sweep: $(cat said)"
for file in share/doc/gpumux/copyright share/doc/gpumux/README.md share/doc/gpumux/docs/sweeps.md share/doc/gpumux/CITATION.cff; do
  [[ -f $root/$file ]] || fail "there is no $file"
done

# Programs of CUDA, where those of the tests were built.
for program in "gpumux_calls add" "gpumux_driver_calls add"; do
  [[ -x $build/bin/${program% *} ]] || continue
  # shellcheck disable=SC2086
  [[ $(gpumux run --machine rtx2060 --quiet -- $build/bin/$program) == "sums are right" ]] || fail "$program"
done

# Every command is in the manual page and in both completions.
commands=$(gpumux --help | sed -nE 's/^  gpumux ([a-z]+) .*/\1/p' | sort -u)
[[ $commands == *sweep* ]] || fail "commands: $commands"
for command in $commands; do
  grep -q "^\.B[R]* \"\?$command" "$root/share/man/man1/gpumux.1" || fail "the manual page lacks $command"
  for completion in bash-completion/completions/gpumux zsh/vendor-completions/_gpumux; do
    grep -qw "$command" "$root/share/$completion" || fail "$completion lacks $command"
  done
done

# What bash completes.
completed() {  # WORD...: the last one is completed
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpumux; echo "${COMPREPLY[@]}"' - \
    "$root/share/bash-completion/completions/gpumux" "$@"
}
[[ $(completed gpumux sw) == sweep ]] || fail "gpumux sw: $(completed gpumux sw)"
[[ $(completed gpumux run --mach) == --machine ]] || fail "--mach: $(completed gpumux run --mach)"
[[ $(completed gpumux run --machine dai18) == *dai18-maxwell* ]] || fail "machines: $(completed gpumux run --machine dai18)"
[[ $(completed gpumux run --policy spat) == spatial ]] || fail "policies: $(completed gpumux run --policy spat)"
[[ $(completed gpumux run hots) == hotspot ]] || fail "apps: $(completed gpumux run hots)"
[[ $(completed gpumux list p) == policies ]] || fail "list: $(completed gpumux list p)"

# The Python module, where it was built.
if [[ -d $root/lib/python3/dist-packages/gpumux ]]; then
  PYTHONPATH=$root/lib/python3/dist-packages /usr/bin/python3 -c '
import gpumux
assert "hotspot" in gpumux.apps()
assert gpumux.run("add", cycles=2000, set={"sms": 2}, baseline=False)["cycles"] == 2000'
fi
# The same from `pip install .`, of this build.
if [[ -f $build/python/gpumux/__init__.py ]] && /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
  /usr/bin/python3 -m pip install --quiet --no-deps --no-index --disable-pip-version-check --root-user-action ignore \
    --target "$place/pip" --config-settings "build-dir=$build" "$source"
  PYTHONPATH=$place/pip /usr/bin/python3 -c '
import gpumux, importlib.metadata
assert gpumux.__version__ == importlib.metadata.version("gpumux")
assert gpumux.run("add", cycles=2000, set={"sms": 2}, baseline=False)["cycles"] == 2000
assert gpumux.__file__.startswith("'"$place"'/pip/")'
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '
import sys, tarfile
sys.path.insert(0, "'"$source"'/python")
import build_backend
name = build_backend.build_sdist(".")
assert name.removesuffix(".tar.gz") + "/PKG-INFO" in tarfile.open(name).getnames()'
fi
echo "installed, moved and used"
