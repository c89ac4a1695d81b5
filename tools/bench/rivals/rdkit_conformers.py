# Compares conformers that landing generated with conformers that RDKit made and no training saw: laws of torsions,
# energies, chirality, double bonds and coverage. Use:
#   python rdkit_conformers.py make "SMILES" FOLDER [conformers]     train.sdf, held.sdf and second.sdf, three draws
#   python rdkit_conformers.py judge FOLDER samples.sdf …
# Files hold heavy atoms. For energies hydrogens are added and relaxed by MMFF with heavy atoms fixed; and once more
# with heavy atoms held by springs of 100 kcal/mol/Å², which lets bonds and angles relax.
import os
import sys

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import AllChem

RDLogger.DisableLog("rdApp.*")
SPRING, NEAR, SYMMETRIES = 100.0, 0.75, 64


def make(smiles, folder, count):
    """Embed conformers by ETKDGv3, relax them by MMFF94, and write heavy atoms alone."""
    os.makedirs(folder, exist_ok=True)
    for seed, name in enumerate(("train", "held", "second"), 1):
        mol = Chem.AddHs(Chem.MolFromSmiles(smiles))
        p = AllChem.ETKDGv3()
        p.randomSeed = seed
        AllChem.EmbedMultipleConfs(mol, count, p)
        AllChem.MMFFOptimizeMoleculeConfs(mol)
        heavy = Chem.RemoveHs(mol)
        heavy.SetProp("_Name", os.path.basename(os.path.normpath(folder)))
        with Chem.SDWriter(os.path.join(folder, name + ".sdf")) as out:
            for c in heavy.GetConformers():
                out.write(heavy, confId=c.GetId())


def read(path):
    return [m for m in Chem.SDMolSupplier(path, removeHs=True) if m is not None]


def rotors(mol):
    """Four atoms of each single bond outside aromatic rings, amides left out, and whether it is in a ring."""
    amide = {tuple(sorted(m[:2])) for m in mol.GetSubstructMatches(Chem.MolFromSmarts("[NX3]-C=O"))}
    out = []
    for b in mol.GetBonds():
        i, j = b.GetBeginAtom(), b.GetEndAtom()
        pair = tuple(sorted((i.GetIdx(), j.GetIdx())))
        ends = [[n.GetIdx() for n in a.GetNeighbors() if n.GetIdx() not in pair] for a in (i, j)]
        linear = Chem.HybridizationType.SP in (i.GetHybridization(), j.GetHybridization())
        if b.GetBondType() == Chem.BondType.SINGLE and pair not in amide and all(ends) and not linear:
            out.append((ends[0][0], i.GetIdx(), j.GetIdx(), ends[1][0], b.IsInRing()))
    return out


def torsion(x, a, b, c, d):
    """Torsions of atoms a, b, c, d in conformers x, n×A×3."""
    f, g, h = x[:, a] - x[:, b], x[:, b] - x[:, c], x[:, d] - x[:, c]
    u, v = np.cross(f, g), np.cross(h, g)
    return np.arctan2((np.cross(v, u) * g).sum(1) / np.linalg.norm(g, axis=1), (u * v).sum(1))


def kuiper(a, b):
    """Kuiper's statistic of two samples on a circle: max(F−G) + max(G−F)."""
    at = np.sort(np.concatenate([a, b]))
    d = np.searchsorted(np.sort(a), at, "right") / len(a) - np.searchsorted(np.sort(b), at, "right") / len(b)
    return max(d.max(), 0) - min(d.min(), 0)


def energies(mols, spring):
    out = []
    for m in mols:
        full = Chem.AddHs(m, addCoords=True)
        props = AllChem.MMFFGetMoleculeProperties(full)
        ff = AllChem.MMFFGetMoleculeForceField(full, props)
        ff.Initialize()
        for a in full.GetAtoms():
            if a.GetAtomicNum() > 1 and spring:
                ff.MMFFAddPositionConstraint(a.GetIdx(), 0.0, spring)
            elif a.GetAtomicNum() > 1:
                ff.AddFixedPoint(a.GetIdx())
        for _ in range(20):
            if ff.Minimize(maxIts=500) == 0:
                break
        out.append(AllChem.MMFFGetMoleculeForceField(full, props).CalcEnergy())
    return np.array(out)


def stereo(mol):
    """Chiral centres and double bonds, as SMILES writes them from positions."""
    m = Chem.Mol(mol)
    Chem.RemoveStereochemistry(m)
    Chem.AssignStereochemistryFrom3D(m)
    return Chem.MolToSmiles(m)


def nearest(x, y, maps):
    """For each conformer of y the RMSD of the nearest of x, over symmetries."""
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    best = np.full(len(y), np.inf)
    for m in maps:
        z = x[:, list(m)]
        s = np.einsum("iak,jal->ijkl", y, z)
        sing = np.linalg.svd(s, compute_uv=False)
        trace = sing[..., 0] + sing[..., 1] + np.sign(np.linalg.det(s)) * sing[..., 2]
        square = (y**2).sum((1, 2))[:, None] + (z**2).sum((1, 2))[None] - 2 * trace
        best = np.minimum(best, np.sqrt(np.maximum(square, 0) / x.shape[1]).min(1))
    return best


def places(mols):
    return np.array([m.GetConformer().GetPositions() for m in mols])


def judge(folder, paths):
    held = read(os.path.join(folder, "held.sdf"))
    y, want = places(held), stereo(held[0])
    maps = held[0].GetSubstructMatches(held[0], uniquify=False, maxMatches=SYMMETRIES)
    turns = rotors(held[0])
    e0 = None
    for name in [os.path.join(folder, "held.sdf"), os.path.join(folder, "second.sdf"), *paths]:
        mols = held if e0 is None else read(name)
        x = places(mols)
        e, relaxed = energies(mols, 0), energies(mols, SPRING)
        if e0 is None:
            e0 = e.min(), relaxed.min()
        # Programs exchange equivalent atoms: torsions are of all ways to name them.
        named = lambda z, t: np.concatenate([torsion(z, *(m[a] for a in t[:4])) for m in maps])
        k = np.array([kuiper(named(x, t), named(y, t)) for t in turns])
        ring = np.array([t[4] for t in turns])
        r = nearest(x, y, maps) if mols is not held else np.zeros(len(y))
        show = lambda v: " ".join("%.1f" % q for q in np.percentile(v, [5, 50, 95]))
        mean = lambda v: "%.3f" % v.mean() if len(v) else "none"
        print("%s: %d conformers" % (name, len(mols)))
        print("  torsions %s (rings %s): %s" % (mean(k[~ring]), mean(k[ring]), " ".join("%.2f" % v for v in k)))
        print("  energy 5/50/95 %%: %s; held by springs %s kcal/mol" % (show(e - e0[0]), show(relaxed - e0[1])))
        print("  stereo kept %d of %d; coverage at %.2f Å %.3f, matching %.3f Å" % (
            sum(stereo(m) == want for m in mols), len(mols), NEAR, (r < NEAR).mean(), r.mean()))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 300)
    else:
        judge(sys.argv[2], sys.argv[3:])
