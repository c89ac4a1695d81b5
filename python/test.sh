#!/usr/bin/env bash
# Tests of the Python package, in a wheel that is installed in an environment of its own, without Go on its path: with the
# oldest Python from 3.10 on and the oldest NumPy that the package takes, and beside it with the newest of both.
# Skipped, with a word, where there is no such Python, or no way to get NumPy and pytest.
#
#   LANDING_PYTHON          the one Python to test with, and the newest NumPy
#   LANDING_WHEEL           the wheel to test; else it is built
#   LANDING_PYTHON_PACKAGES more packages to install, such as "torch arviz openmm MDAnalysis"
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "python: skipped: $*"; exit 0; }

python=${LANDING_PYTHON:-} oldest=
if [ -z "$python" ]; then
  found=$(for p in python3 python3.{10..19} "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.*/bin/python3; do
    "$p" -c 'import sys, venv, ensurepip; v = sys.version_info; v < (3, 10) or print(v[1], sys.executable)' 2>/dev/null || true
  done | sort -n)
  [ -n "$found" ] || skip "no Python 3.10 or later with venv"
  oldest=$(head -1 <<<"$found") newest=$(tail -1 <<<"$found")
  python=${newest#* }
  [ "${oldest%% *}" != "${newest%% *}" ] || oldest=
fi

packages="numpy${LANDING_NUMPY:-} pytest hatchling tqdm nbclient ipykernel ${LANDING_PYTHON_PACKAGES:-}"
about=$("$python" -c 'import sys; print(sys.executable, sys.version)')
key=$(printf '%s\n' "$packages" "$about" | cksum | cut -d' ' -f1)
home=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/landing/python-$key
if ! [ -e "$home/complete" ]; then
  rm -rf "$home"
  mkdir -p "$(dirname "$home")"
  "$python" -m venv "$home"
  # shellcheck disable=SC2086 # a list
  timeout 300 "$home/bin/python" -m pip install -q --disable-pip-version-check --retries 1 $packages \
    || skip "pip cannot install $packages"
  touch "$home/complete"
fi
# Programs that read files of molecules, and checkers of types; without them tests are skipped. Larger ones, such as
# torch, arviz, pandas and polars: LANDING_PYTHON_PACKAGES.
if ! [ -e "$home/programs-3" ]; then
  for group in "rdkit biopython" tensorboard "mypy pyright[nodejs]"; do
    # shellcheck disable=SC2086 # a list
    timeout 200 "$home/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --only-binary :all: \
      "numpy${LANDING_NUMPY:-}" $group || echo "python: pip cannot install $group"
  done
  touch "$home/programs-3"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheel=${LANDING_WHEEL:-}
if [ -z "$wheel" ]; then
  CGO_ENABLED=0 go build -o "$work/landing" ./cmd/landing
  (cd python && LANDING_PREBUILT=$work/landing "$home/bin/python" -m hatchling build -t wheel -d "$work/dist" >"$work/log" 2>&1) \
    || { cat "$work/log" >&2; exit 1; }
  wheel=$(echo "$work"/dist/*.whl)
fi
"$home/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-index --force-reinstall "$wheel"
if [ -n "$oldest" ]; then
  LANDING_WHEEL=$wheel LANDING_PYTHON=${oldest#* } LANDING_NUMPY='==1.25.*' bash python/test.sh >"$work/oldest" 2>&1 &
  beside=$!
fi

# What does not depend on the version of Python is tested with the newest alone.
less=()
if [ -n "${LANDING_NUMPY:-}" ]; then
  for t in tutorials statements notebook molecule_files; do less+=("--ignore=$PWD/python/tests/test_$t.py"); done
fi
# Neither Go nor the sources of the package are in reach.
clean=$(printf '%s' "$PATH" | tr ':' '\n' | while read -r d; do [ -x "$d/go" ] || printf '%s:' "$d"; done)
(cd "$work" && PATH=$home/bin:${clean%:} PYTHONPATH= "$home/bin/python" -m pytest -q -p no:cacheprovider \
  --rootdir "$OLDPWD/python" -c "$OLDPWD/python/pyproject.toml" ${less[@]+"${less[@]}"} --basetemp "$work/tmp" "$OLDPWD/python/tests")
[ -z "$oldest" ] || { wait "$beside" || { cat "$work/oldest" >&2; exit 1; }; cat "$work/oldest"; }
