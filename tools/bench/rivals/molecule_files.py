"""Files of molecules that landing wrote, as RDKit, OpenMM, Biopython and MDAnalysis read them.

    pip install rdkit openmm biopython MDAnalysis
    python tools/bench/rivals/molecule_files.py FOLDER

FOLDER holds one set of conformations as frames.npy (n×A×3, float64), frames.pdb, frames.sdf, frames.xyz and frames.dcd,
and bonds.txt, a pair of atoms a line. Each program must find all atoms, each with a name of its own, all frames, and the
bonds where its reader has them; coordinates must be those of the array to what the format keeps. With MDAnalysis the
script also writes again.dcd and again.xtc of the frames, for landing to read. A program that is not installed is named
as skipped. A difference is an exit status of 1.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
warnings.warn = lambda *_, **__: None  # MDAnalysis sets filters of its own


def rdkit(folder):
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    if (folder / "frames.pdb").read_text().splitlines()[1][76:78] == " X":
        return  # RDKit reads no atoms whose element is not known
    pdb = Chem.MolFromPDBFile(str(folder / "frames.pdb"), removeHs=False, sanitize=False)
    names = [a.GetPDBResidueInfo().GetName().strip() for a in pdb.GetAtoms()]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in pdb.GetBonds()]
    yield "pdb", 6e-4, [c.GetPositions() for c in pdb.GetConformers()], names, bonds
    records = list(Chem.SDMolSupplier(str(folder / "frames.sdf"), removeHs=False, sanitize=False))
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in records[0].GetBonds()]
    yield "sdf", 6e-5, [m.GetConformer().GetPositions() for m in records], None, bonds
    first = (folder / "frames.xyz").read_text().split("\nframe 1\n")[0]
    lines = first.splitlines()
    xyz = Chem.MolFromXYZBlock("\n".join(lines[: int(lines[0]) + 2]) + "\n")
    yield "xyz, frame 0", 1e-9, [xyz.GetConformer().GetPositions()], None, None


def openmm(folder):
    from openmm.app import PDBFile
    from openmm.unit import angstrom

    pdb = PDBFile(str(folder / "frames.pdb"))
    x = [pdb.getPositions(asNumpy=True, frame=k).value_in_unit(angstrom) for k in range(pdb.getNumFrames())]
    bonds = [(b[0].index, b[1].index) for b in pdb.topology.bonds()]
    yield "pdb", 6e-4, x, [a.name for a in pdb.topology.atoms()], bonds


def biopython(folder):
    from Bio.PDB import PDBParser

    models = list(PDBParser(QUIET=True).get_structure("x", str(folder / "frames.pdb")))
    names = [a.id for a in models[0].get_atoms()]
    yield "pdb", 6e-4, [[a.coord for a in m.get_atoms()] for m in models], names, None


def mdanalysis(folder):
    import MDAnalysis

    def frames(*files):
        u = MDAnalysis.Universe(*(str(folder / f) for f in files))
        return u, [u.atoms.positions.copy() for _ in u.trajectory]

    pdb, x = frames("frames.pdb")
    yield "pdb", 6e-4, x, [a.name for a in pdb.atoms], [tuple(b.indices) for b in pdb.bonds]
    yield "dcd", 0, frames("frames.pdb", "frames.dcd")[1], None, None
    yield "xyz", 0, frames("frames.xyz")[1], None, None
    for name in ("again.dcd", "again.xtc"):
        with MDAnalysis.Writer(str(folder / name), len(pdb.atoms)) as w:
            for _ in pdb.trajectory:
                w.write(pdb.atoms)


def main(folder):
    want = np.load(folder / "frames.npy")
    bonded = {frozenset(map(int, line.split())) for line in (folder / "bonds.txt").read_text().splitlines()}
    faults = 0
    for program in (rdkit, openmm, biopython, mdanalysis):
        try:
            for kind, off, x, names, bonds in program(folder):
                x, at = np.array(x, dtype=float), want[: len(x)]
                said = f"{program.__name__}, {kind}: {x.shape[0]} frames of {x.shape[1]} atoms"
                fault = x.shape != at.shape or len(x) < len(want) and "frame 0" not in kind
                if not fault:  # what is kept of float32 is bit for bit
                    worst = np.abs(x - (at if off else at.astype(np.float32))).max()
                    said += f", off by at most {worst:.3g} Å"
                    fault = not worst <= off + 1e-6 * (off > 0) * np.abs(at).max()
                if names is not None:
                    said += f", {len(set(names))} names"
                    fault |= len(set(names)) != want.shape[1]
                if bonds is not None:
                    said += f", {len(bonds)} bonds"
                    fault |= {frozenset(map(int, b)) for b in bonds} != bonded
                faults += fault
                print("FAULT" if fault else "good ", said)
        except ImportError as missing:
            print(f"skipped: {missing.name} is not installed")
    return bool(faults)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
