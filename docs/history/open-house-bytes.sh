#!/usr/bin/env bash
# Prints the SHA-256 of what ten small jobs leave, so that two commits can be held
# against each other on one machine and kernel.
#
#   docs/history/open-house-bytes.sh CHECKOUT DATA OUT
#
# CHECKOUT is a working tree of the commit, DATA the folder of docs/data.md with
# earth/ and mesh/, OUT an empty folder, which keeps the runs. SKIP_DEMO=1 saves half a minute.
set -euo pipefail
src=$(cd "$1" && pwd) data=$(cd "$2" && pwd)
mkdir -p "$3" && out=$(cd "$3" && pwd)
(cd "$src" && CGO_ENABLED=0 go build -o "$out/landing" ./cmd/landing)
l="$out/landing"
fast=  # the variant of recipes that learns as the recipes themselves do since
if grep -q '^  fast:' "$src/problem/recipes/volcano.yaml"; then fast=fast; fi
hash() { # NAME FILE
  local sum=none
  [ ! -e "$2" ] || sum=$(sha256sum <"$2" | cut -d' ' -f1)
  printf '%s  %s\n' "$sum" "$1" | tee -a "$out/hashes.txt"
}
: >"$out/hashes.txt"
trained() { # RUN
  "$l" generate "$out/$1-run" -n 2000 -o "$out/$1.samples.npy" >>"$out/log.txt" 2>&1 || echo "generate $1: exit $?" >>"$out/log.txt"
  hash "$1 samples" "$out/$1.samples.npy"
  hash "$1 weights" "$(ls -d "$out/$1-run"/checkpoints/0* | tail -n 1)/weights.safetensors"
}
# Work with the names that a user of an example would use.
for e in torus-hole chain stiefel; do
  mkdir -p "$out/$e" && cp "$src/examples/$e/problem.yaml" "$out/$e/"
  more=(); [ $e = chain ] && more=(-epochs 1) # it trains as well
  (cd "$src" && go run ./examples/$e -o "$out/$e" "${more[@]}") >>"$out/log.txt" 2>&1
  hash "$e data" "$out/$e/data.npy"
done
quick=(--set train.epochs=4 --set train.evaluate_every=2 --set sample.draws=200)

if [ -z "${SKIP_DEMO:-}" ]; then
  "$l" demo --out "$out/demo-run" >>"$out/log.txt" 2>&1
  hash "demo samples" "$out/demo-run/samples.npy"
  hash "demo weights" "$(ls -d "$out"/demo-run/checkpoints/0* | tail -n 1)/weights.safetensors"
fi

train() { # RUN ARGS
  local run=$1; shift
  "$l" train "$@" --out "$out/$run-run" >>"$out/log.txt" 2>&1
  trained "$run"
}
train volcano volcano --variant "$fast" --data "$data/earth/volcano.csv" --set train.epochs=30
train bunny50 bunny50 --variant "$fast" --data "$data/mesh/bunny_eigfn50.npy" \
  --set set.weights="$data/mesh/bunny_sdf.npz" --set set.mesh="$data/mesh/bunny.ply" --set train.epochs=3
"$l" data so --n 10 --modes 3 -o "$out/so10-3.npy" >>"$out/log.txt" 2>&1
train so10-3 so10-3 --variant "mixing${fast:+,$fast}" --data "$out/so10-3.npy" --set train.epochs=2
for m in OLLA-P ULLA-P; do
  train "torus-hole-$m" "$out/torus-hole/problem.yaml" --data "$out/torus-hole/data.npy" "${quick[@]}" \
    --set process.method=$m --set generate.max_failed=1 --set train.max_failed=1
done
train chain "$out/chain/problem.yaml" --data "$out/chain/data.npy" "${quick[@]}"
train stiefel "$out/stiefel/problem.yaml" --data "$out/stiefel/data.npy" "${quick[@]}"
for e in torus-hole chain stiefel; do
  "$l" sample "$out/$e/problem.yaml" -o "$out/$e.draws.npy" --set sample.draws=200 >>"$out/log.txt" 2>&1 || echo "sample $e: exit $?" >>"$out/log.txt"
  hash "$e draws" "$out/$e.draws.npy"
done
