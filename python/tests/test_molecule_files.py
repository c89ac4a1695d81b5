"""Other programs read the files of molecules that the binary writes: RDKit, OpenMM, Biopython, MDAnalysis."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from landing import _binary

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "bench" / "rivals" / "molecule_files.py"
PROGRAMS = [p for p in ("rdkit", "openmm", "Bio", "MDAnalysis") if find_spec(p)]
ETHANOL = """C -0.748 -0.015 0.024
C 0.558 0.420 -0.278
O 1.282 -0.650 -0.767
H -1.293 -0.202 -0.901
H -1.263 0.754 0.600
H -0.699 -0.934 0.609
H 0.716 1.404 0.137
H 0.598 0.512 -1.370
H 1.185 -1.480 -0.281
""".splitlines()
BONDS = "0 1\n1 2\n0 3\n0 4\n0 5\n1 6\n1 7\n2 8\n"


@pytest.mark.skipif(not PROGRAMS, reason="neither RDKit, OpenMM, Biopython nor MDAnalysis is installed")
def test_other_programs(folder: Path) -> None:
    names = [line.split()[0] for line in ETHANOL]
    at = np.array([[float(v) for v in line.split()[1:]] for line in ETHANOL])
    draw, frames = np.random.default_rng(1), []
    for k in range(12):  # bonds of the template: noise that refine takes away
        rows = at + (0 if k == 0 else 0.01) * draw.standard_normal(at.shape)
        frames.append("\n".join(["9", f"frame {k}", *(f"{n} {x:.6f} {y:.6f} {z:.6f}" for n, (x, y, z) in zip(names, rows))]))
    (folder / "ethanol.xyz").write_text("\n".join(frames) + "\n")
    (folder / "p.yaml").write_text("data: {kind: molecule, path: ethanol.xyz}\n"
                                   "set: {kind: molecule, template: ethanol.xyz, bonds: template}\n")
    (folder / "bonds.txt").write_text(BONDS)
    for ext in ("npy", "pdb", "sdf", "xyz", "dcd"):
        subprocess.run([_binary.binary(), "refine", "p.yaml", "-o", f"frames.{ext}"], cwd=folder, check=True,
                       capture_output=True)
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("good") >= len(PROGRAMS)
