#!/usr/bin/env bash
# Prints the SHA-256 of what small jobs leave, to compare two versions of the program
# on one machine and kernel. It knows the commands' names before and after the redesign.
#
#   docs/history/house-bytes.sh CHECKOUT DATA OUT
#
# CHECKOUT is a working tree of the version, DATA the folder of docs/data.md with earth/
# and mesh/, OUT an empty folder, which keeps the runs. docs/history/house-bytes.txt has
# the hashes of the version before the redesign, on a CPU with AVX-512 and AMX.
set -euo pipefail
src=$(cd "$1" && pwd) data=$(cd "$2" && pwd)
mkdir -p "$3" && out=$(cd "$3" && pwd)
(cd "$src" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$out/landing" ./cmd/landing)
l="$out/landing"
fast=  # the variant of recipes that learns as the recipes themselves do since
if grep -q '^  fast:' "$src/problem/recipes/volcano.yaml"; then fast=fast; fi
if "$l" --help | grep -q "^  mcmc "; then
  make=(make so --size 10) mcmc=(mcmc) evaluate=(report --text) resume=(train) from=--data-dir
else
  make=(data so --n 10) mcmc=(sample) evaluate=(eval) resume=(resume) from=--data
fi
: >"$out/hashes.txt"
hash() { # NAME FILE
  local sum=none
  [ ! -e "$2" ] || sum=$(sha256sum <"$2" | cut -d' ' -f1)
  printf '%s  %s\n' "$sum" "$1" | tee -a "$out/hashes.txt"
}
quietly() { "$@" >>"$out/log.txt" 2>&1 || echo "exit $?: $*" >>"$out/log.txt"; }
weights() { ls -d "$out/$1"/checkpoints/0* | tail -n 1; }
trained() { # RUN
  quietly "$l" generate "$out/$1-run" -n 2000 -o "$out/$1.samples.npy"
  hash "$1 samples" "$out/$1.samples.npy"
  hash "$1 weights" "$(weights "$1-run")/weights.safetensors"
}
train() { # RUN ARGS
  local run=$1; shift
  quietly "$l" train "$@" --out "$out/$run-run"
  trained "$run"
}

# Work with the names that a user of an example would use.
for e in torus-hole chain stiefel; do
  mkdir -p "$out/$e" && cp "$src/examples/$e/problem.yaml" "$out/$e/"
  more=(); [ $e = chain ] && more=(-epochs 1) # it trains as well
  if ls "$src/examples/$e"/*.go >/dev/null 2>&1; then
    (cd "$src" && go run -trimpath ./examples/$e -o "$out/$e" "${more[@]}") >>"$out/log.txt" 2>&1
  else # an example that is files alone
    cp "$src/examples/$e"/data.* "$out/$e/"
  fi
  hash "$e data" "$out/$e/data.npy"
done
quick=(--set train.epochs=4 --set train.evaluate_every=2 --set sample.draws=200)

if [ -z "${SKIP_DEMO:-}" ]; then
  quietly "$l" demo --out "$out/demo-run"
  hash "demo samples" "$out/demo-run/samples.npy"
  hash "demo weights" "$(weights demo-run)/weights.safetensors"
fi
train volcano volcano --variant "$fast" --data "$data/earth/volcano.csv" --set train.epochs=30
train bunny50 bunny50 --variant "$fast" --data "$data/mesh/bunny_eigfn50.npy" \
  --set set.weights="$data/mesh/bunny_sdf.npz" --set set.mesh="$data/mesh/bunny.ply" --set train.epochs=3
quietly "$l" "${make[@]}" --modes 3 -o "$out/so10-3.npy"
train so10-3 so10-3 --variant "mixing${fast:+,$fast}" --data "$out/so10-3.npy" --set train.epochs=2
for m in OLLA-P ULLA-P; do
  train "torus-hole-$m" "$out/torus-hole/problem.yaml" --data "$out/torus-hole/data.npy" "${quick[@]}" \
    --set process.method=$m --set generate.max_failed=1 --set train.max_failed=1
done
train chain "$out/chain/problem.yaml" --data "$out/chain/data.npy" "${quick[@]}"
train stiefel "$out/stiefel/problem.yaml" --data "$out/stiefel/data.npy" "${quick[@]}"
for e in torus-hole chain stiefel; do
  quietly "$l" "${mcmc[@]}" "$out/$e/problem.yaml" -o "$out/$e.draws.npy" --set sample.draws=200
  hash "$e draws" "$out/$e.draws.npy"
done

# A training that goes on, parts that are joined, exports, a verdict, a sweep of the paper's cells.
cp -r "$out/volcano-run" "$out/longer-run"
quietly "$l" "${resume[@]}" "$out/longer-run" --set train.epochs=34
hash "longer weights" "$(weights longer-run)/weights.safetensors"
for i in 1 2 3; do
  quietly "$l" generate "$out/volcano-run" -n 3001 --seed 5 --shard $i/3 -o "$out/parts.npy"
done
quietly "$l" merge "$out/parts.npy.parts"
hash "three parts" "$out/parts.npy"
for ext in csv parquet; do
  quietly "$l" generate "$out/volcano-run" -n 500 --seed 6 -o "$out/samples.$ext"
  hash "samples as $ext" "$out/samples.$ext"
done
quietly "$l" report "$out/volcano-run" -n 1000
quietly "$l" export "$out/volcano-run" --onnx "$out/v.onnx" --torch "$out/torch" --hub "$out/hub" --license apache-2.0 \
  --tensorboard "$out/events"
hash "onnx" "$out/v.onnx"
for f in $(cd "$out" && find torch hub -type f ! -name '*.md' ! -name '*.html' | sort); do hash "export $f" "$out/$f"; done
"$l" "${evaluate[@]}" "$out/volcano-run" -n 1000 --json 2>>"$out/log.txt" >"$out/verdict.json" || true
cat >"$out/cells.yaml" <<YAML
name: cells
problems:
  - {name: volcano, problem: volcano, data: earth/volcano.csv}
  - {name: flood, problem: flood, data: earth/flood.csv}
methods:
  - {name: ULLA, variant: "$fast"}
  - {name: OLLA, variant: "olla${fast:+,$fast}"}
  - name: Euclidean
    method: euclidean
    variant: "$fast"
    set: {process: {steps: 50, horizon: 4, sigma: {min: 0.01, max: 1}}}
budget: {epochs: 3}
seeds: [1]
samples: 500
set:
  generate: {max_failed: 1, max_violation: 1e9}
YAML
quietly "$l" sweep "$out/cells.yaml" $from "$data" --out "$out/cells"
for d in $(cd "$out/cells/runs" && ls); do
  hash "cell $d samples" "$out/cells/runs/$d/samples.npy"
  hash "cell $d weights" "$(weights "cells/runs/$d")/weights.safetensors"
done
