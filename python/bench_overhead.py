"""How much longer a call from Python takes than the same call of the binary, in turn.

    python python/bench_overhead.py [--rows 1000000] [--pairs 5]

trains a small run on a torus, then draws 1 and --rows samples by `landing generate` and by run.generate, alternately,
and prints the median seconds of each, and of the differences within a pair.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import landing
from landing._binary import binary


def seconds(what) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    draw = np.random.default_rng(1)
    a, b = draw.uniform(-np.pi, np.pi, (2, 500))
    ring = 2 + 0.6 * np.cos(b)
    points = np.stack([ring * np.cos(a), ring * np.sin(a), 0.6 * np.sin(b)], 1)
    problem = landing.Problem("torus", set={"kind": "torus", "major": 2.0, "minor": 0.6}, defaults="fixed",
                              prior="empirical", process={"steps": 20}, network={"width": 32, "layers": 2},
                              train={"epochs": 3})
    with tempfile.TemporaryDirectory(prefix="landing-bench-") as folder:
        run = landing.train(problem, points, runs=folder)
        out = Path(folder) / "samples.npy"
        for rows, pairs in ((1, 4 * given.pairs), (given.rows, given.pairs)):
            command = [binary(), "generate", str(run.path), f"-n{rows}", f"-o{out}", "--force", "--json", "-q"]
            ours, theirs = [], []
            for i in range(pairs + 1):
                x = seconds(lambda c=command: subprocess.run(c, check=True, capture_output=True))
                y = seconds(lambda n=rows: run.generate(n))
                if i > 0:  # the first pair warms caches
                    theirs.append(x)
                    ours.append(y)
            more = statistics.median(y - x for x, y in zip(theirs, ours))
            low = statistics.median(theirs)
            print(f"{rows} samples: binary {low:.3f} s, Python {statistics.median(ours):.3f} s, "
                  f"{1000 * more:.1f} ms more ({100 * more / low:.1f} %)", flush=True)


if __name__ == "__main__":
    main()
