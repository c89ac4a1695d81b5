"""Frames that landing wrote, as MDAnalysis reads them.

    pip install MDAnalysis
    python tools/bench/rivals/mdanalysis_frames.py FOLDER

FOLDER holds one set of conformations as frames.npy (n×A×3, float64), frames.pdb,
frames.dcd and frames.xyz, and optionally bonds.txt, a pair of atoms a line. DCD must
give back float32 of each coordinate, PDB the coordinate to 0.0005 Å, XYZ to float32's
rounding; names and bonds of the PDB file must be there. Without MDAnalysis the script
says so and ends; a difference is an exit status of 1.
"""

import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

try:
    import MDAnalysis
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install MDAnalysis)")
    sys.exit(0)


def positions(universe):
    return np.array([universe.atoms.positions.copy() for _ in universe.trajectory])


def main(folder):
    x = np.load(folder / "frames.npy")
    pdb = MDAnalysis.Universe(str(folder / "frames.pdb"))
    read = {
        "pdb": positions(pdb),
        "dcd": positions(MDAnalysis.Universe(str(folder / "frames.pdb"), str(folder / "frames.dcd"))),
        "xyz": positions(MDAnalysis.Universe(str(folder / "frames.xyz"))),
    }
    faults = []
    for kind, bound in (("pdb", 0.0005 + 1e-6 * np.abs(x).max()), ("dcd", 0), ("xyz", 0)):
        got = read[kind]
        if got.shape != x.shape:
            faults.append(f"{kind}: shape {got.shape}, expected {x.shape}")
            continue
        worst = np.abs(got - (x if bound else x.astype(np.float32))).max()
        print(f"{kind}: {len(got)} frames of {got.shape[1]} atoms, largest difference {worst:.3g} Å")
        if not worst <= bound:
            faults.append(f"{kind}: coordinates differ by {worst}, expected at most {bound}")
    print("atoms:", " ".join(f"{a.resname}{a.resid}:{a.name}/{a.element}" for a in pdb.atoms))
    bonds = folder / "bonds.txt"
    if bonds.exists():
        want = sorted(tuple(map(int, line.split())) for line in bonds.read_text().splitlines())
        got = sorted(tuple(sorted(map(int, b.indices))) for b in pdb.bonds)
        print(f"bonds: {len(got)}")
        if got != want:
            faults.append(f"pdb: bonds {got}, expected {want}")
    for f in faults:
        print("FAULT", f)
    return bool(faults)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
