# Conformers under upper limits of distances, as an NOE gives them: what landing generate --given makes, beside RDKit
# with the limits in its bounds matrix. Use:
#   python rdkit_given.py make template.sdf limits COUNT out.sdf    limits: atom,atom,Å of heavy atoms, with spaces
#   python rdkit_given.py judge limits plain.sdf samples.sdf …
# plain.sdf has samples of the run without limits: those that keep them are draws of the law that is asked for.
# Distances of laws are energy distances of the cosines and sines of all torsions, in units of what two halves of the
# plain samples that keep the limits have ("floors").
import sys

import numpy as np
from rdkit import Chem, DistanceGeometry
from rdkit.Chem import AllChem, rdDistGeom
from rdkit_conformers import energies, places, read, rotors, torsion


def parsed(limits):
    return [(int(i), int(j), float(r)) for i, j, r in (w.split(",") for w in limits.split())]


def make(template, limits, count, out):
    """Embed with the limits as upper bounds, and relax by MMFF with the limits as restraints."""
    mol = Chem.AddHs(next(iter(Chem.SDMolSupplier(template))), addCoords=True)
    Chem.AssignStereochemistryFrom3D(mol)
    bounds = rdDistGeom.GetMoleculeBoundsMatrix(mol)
    for i, j, r in limits:
        bounds[min(i, j), max(i, j)] = min(r, bounds[min(i, j), max(i, j)])
    DistanceGeometry.DoTriangleSmoothing(bounds)
    p = AllChem.ETKDGv3()
    p.randomSeed = 7
    p.SetBoundsMat(bounds)
    writer = Chem.SDWriter(out)
    props = AllChem.MMFFGetMoleculeProperties(mol)
    for c in list(AllChem.EmbedMultipleConfs(mol, count, p)):
        ff = AllChem.MMFFGetMoleculeForceField(mol, props, confId=c)
        ff.Initialize()
        for i, j, r in limits:
            ff.MMFFAddDistanceConstraint(i, j, False, 0, r, 100.0)
        ff.Minimize(maxIts=2000)
        writer.write(Chem.RemoveHs(mol), confId=c)
    writer.close()


def energy(x, y):
    """The energy distance of two sets of rows."""
    mean = lambda a, b: np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)).mean()
    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def judge(limits, paths):
    reference = lowest = None
    for name in paths:
        mols = read(name)
        x = places(mols)
        beyond = np.max([np.linalg.norm(x[:, i] - x[:, j], axis=1) - r for i, j, r in limits], axis=0)
        turns = np.concatenate([f(torsion(x, *t[:4]))[:, None] for t in rotors(mols[0]) for f in (np.cos, np.sin)], 1)
        kept = beyond <= 1e-3  # SDF files round
        print("%s: %d conformers, %d keep the limits, the worst is %.3f Å beyond" % (
            name, len(x), kept.sum(), max(0, beyond.max())))
        if reference is None:
            reference = turns[kept]
            half = len(reference) // 2
            floor = np.median([energy(r[:half], r[half:]) for r in (
                np.random.default_rng(s).permutation(reference) for s in range(20))])
            mols = [m for m, k in zip(mols, kept) if k]
        else:
            turns = turns[: len(reference)]
            print("  torsions: %.2f floors" % (energy(turns, reference) / floor))
        shown = mols[:100]
        e, relaxed = energies(shown, 0), energies(shown, 100.0)
        if lowest is None:
            lowest = e.min(), relaxed.min()
        for what, v in (("heavy atoms fixed", e - lowest[0]), ("held by springs", relaxed - lowest[1])):
            print("  energy 5/50/95 %%, %s: %s kcal/mol" % (
                what, " ".join("%.1f" % q for q in np.percentile(v, [5, 50, 95]))))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], parsed(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        judge(parsed(sys.argv[2]), sys.argv[3:])
