"""OpenMM's energies, forces and speed for alanine dipeptide, and F(ψ) beside ours.

    pip install openmm numpy
    python tools/bench/rivals/openmm_amber.py terms --write domain/molecule/amber/testdata/openmm.npz
    go test ./domain/molecule/amber -run OpenMM -bench Energy
    python tools/bench/rivals/openmm_amber.py speed
    go build -o landing ./cmd/landing
    python tools/bench/rivals/openmm_amber.py window --landing ./landing

OpenMM has its own parameters of ff14SB (amber14/protein.ff14SB.xml) and its own implicit
water (implicit/obc2.xml); it gets a first conformation from us and nothing else. The Go test
compares our energies and gradients with the file that terms writes; the benchmark is our side
of speed. Without OpenMM the script says so and ends.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import openmm as mm
    import openmm.app as app
    from openmm import unit
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install openmm numpy)")
    sys.exit(0)

KCAL = 4.184
START = "domain/molecule/amber/testdata/dipeptide.rst7"
ATOMS = [("ACE", "H1 CH3 H2 H3 C O"), ("ALA", "N H CA HA CB HB1 HB2 HB3 C O"), ("NME", "N H C H1 H2 H3")]
BONDS = [(0, 1), (1, 2), (1, 3), (1, 4), (4, 5), (4, 6), (6, 7), (6, 8), (8, 9), (8, 10), (10, 11), (10, 12),
         (10, 13), (8, 14), (14, 15), (14, 16), (16, 17), (16, 18), (18, 19), (18, 20), (18, 21)]
PHI, PSI = (4, 6, 8, 14), (6, 8, 14, 16)


def dipeptide():
    top = app.Topology()
    chain, atoms = top.addChain(), []
    for name, members in ATOMS:
        residue = top.addResidue(name, chain)
        atoms += [top.addAtom(m, app.Element.getBySymbol(m[0]), residue) for m in members.split()]
    for i, j in BONDS:
        top.addBond(atoms[i], atoms[j])
    return top


def system(solvent):
    """OpenMM's System, all bonds free, no cutoff."""
    keys = dict(nonbondedMethod=app.NoCutoff, constraints=None, rigidWater=False, removeCMMotion=False)
    if solvent == "vacuum":
        return app.ForceField("amber14/protein.ff14SB.xml").createSystem(dipeptide(), **keys)
    s = app.ForceField("amber14/protein.ff14SB.xml", "implicit/obc2.xml").createSystem(dipeptide(), **keys)
    # The CustomGBForce of that file has another Coulomb constant (138.935485 kJ nm/mol) than all other forces
    # (138.935458); GBSAOBCForce is the same model without that slip, and faster.
    at, custom = next((k, f) for k, f in enumerate(s.getForces()) if isinstance(f, mm.CustomGBForce))
    born = mm.GBSAOBCForce()
    born.setSolventDielectric(78.5)
    for i in range(s.getNumParticles()):
        q, reduced, scaled = custom.getParticleParameters(i)
        born.addParticle(q, reduced + 0.009, scaled / reduced)
    s.removeForce(at)
    s.addForce(born)
    return s


def simulate(s, integrator, platform="Reference"):
    properties = {"Threads": "1"} if platform == "CPU" else {}
    return mm.Context(s, integrator, mm.Platform.getPlatformByName(platform), properties)


def evaluate(s, x):
    """Energies in kcal/mol and gradients in kcal/(mol Å) of conformations x (n×3A, Å)."""
    c = simulate(s, mm.VerletIntegrator(0.001))
    energies, gradients = [], []
    for row in x:
        c.setPositions(row.reshape(-1, 3) * 0.1)
        state = c.getState(getEnergy=True, getForces=True)
        energies.append(state.getPotentialEnergy().value_in_unit(unit.kilocalories_per_mole))
        f = state.getForces(asNumpy=True).value_in_unit(unit.kilocalories_per_mole / unit.angstrom)
        gradients.append(-np.asarray(f).ravel())
    return np.array(energies), np.array(gradients)


def only(s, keep):
    """The system with the forces that keep turns into a list of forces, and no others."""
    out = mm.System()
    for i in range(s.getNumParticles()):
        out.addParticle(s.getParticleMass(i))
    for f in s.getForces():
        for g in keep(f):
            out.addForce(g)
    return out


def copied(f):
    return mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(f))


def torsions(improper):
    def keep(f):
        if not isinstance(f, mm.PeriodicTorsionForce):
            return []
        g, joined = mm.PeriodicTorsionForce(), keep.bonds
        for k in range(f.getNumTorsions()):
            i, j, l, m, *rest = f.getTorsionParameters(k)
            chain = all(frozenset(p) in joined for p in ((i, j), (j, l), (l, m)))
            if chain != improper:
                g.addTorsion(i, j, l, m, *rest)
        return [g]
    return keep


def nonbonded(charges, pairs14):
    """Lennard-Jones and Coulomb without charges, or of pairs three bonds apart alone."""
    def keep(f):
        if not isinstance(f, mm.NonbondedForce):
            return []
        g = copied(f)
        for i in range(g.getNumParticles()):
            q, sigma, epsilon = g.getParticleParameters(i)
            g.setParticleParameters(i, 0 if pairs14 or not charges else q, sigma, 0 if pairs14 else epsilon)
        for k in range(g.getNumExceptions()):
            i, j, q, sigma, epsilon = g.getExceptionParameters(k)
            on = 1 if pairs14 else 0
            g.setExceptionParameters(k, i, j, q * on if charges else 0, sigma, epsilon * on)
        return [g]
    return keep


def theirs(solvent, x):
    """Energies by term, and the gradient of all."""
    s = system(solvent)
    joined = set()
    for f in s.getForces():
        if isinstance(f, mm.HarmonicBondForce):
            joined |= {frozenset(f.getBondParameters(k)[:2]) for k in range(f.getNumBonds())}
    def of(keep):
        keep.bonds = joined
        return evaluate(only(s, keep), x)[0]
    kind = lambda c: of(lambda f: [copied(f)] if isinstance(f, c) else [])
    lj, lj14 = of(nonbonded(False, False)), of(nonbonded(False, True))
    terms = [kind(mm.HarmonicBondForce), kind(mm.HarmonicAngleForce), of(torsions(False)), of(torsions(True)), lj,
             of(nonbonded(True, False)) - lj, lj14, of(nonbonded(True, True)) - lj14,
             kind((mm.GBSAOBCForce, mm.CustomGBForce))]
    return np.array(terms).T, evaluate(s, x)[1]


def start():
    """A conformation in Å: that of the package's tests."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
    return app.AmberInpcrdFile(os.path.join(root, START)).getPositions(asNumpy=True).value_in_unit(unit.angstrom)


def conformations(count):
    """Of dynamics at 600 K in vacuum, a picosecond apart: far from equilibrium, all terms at work."""
    s = system("vacuum")
    i = mm.LangevinMiddleIntegrator(600 * unit.kelvin, 10 / unit.picosecond, 0.5 * unit.femtosecond)
    i.setRandomNumberSeed(1)
    c = simulate(s, i)
    c.setPositions(start() * 0.1)
    c.setVelocitiesToTemperature(600 * unit.kelvin, 1)
    x = []
    for _ in range(count):
        i.step(2000)
        x.append(np.asarray(c.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.angstrom)).ravel())
    return np.array(x)


def terms(a):
    x = conformations(a.count)
    numbers = {"x": x}
    for solvent in ("vacuum", "obc2"):
        numbers[f"{solvent}_terms"], numbers[f"{solvent}_gradient"] = theirs(solvent, x)
    np.savez(a.write, **numbers)
    print(f"{a.write}: OpenMM's energies by term and gradients of {len(x)} conformations")
    return True


def speed(a):
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors; one thread")
    print("seconds a million       OpenMM CPU      OpenMM Reference")
    x = conformations(1)
    for solvent in ("vacuum", "obc2"):
        for what in ("energies", "steps"):
            cells = []
            for platform in ("CPU", "Reference"):
                i = mm.LangevinMiddleIntegrator(300 * unit.kelvin, 5 / unit.picosecond, 1 * unit.femtosecond)
                c = simulate(system(solvent), i, platform)
                c.setPositions(x[0].reshape(-1, 3) * 0.1)
                mm.LocalEnergyMinimizer.minimize(c)
                c.setVelocitiesToTemperature(300 * unit.kelvin, 1)
                if what == "energies":
                    at = c.getState(getPositions=True).getPositions()
                    def once(n):
                        for _ in range(n):
                            c.setPositions(at)
                            c.getState(getForces=True)
                else:
                    once = i.step
                best, n = np.inf, 500
                once(n // 10)
                end = time.perf_counter() + a.seconds
                while time.perf_counter() < end:
                    begin = time.perf_counter()
                    once(n)
                    best = min(best, (time.perf_counter() - begin) / n * 1e6)
                cells.append(best)
            print(f"{solvent:7s} {what:10s}  " + "  ".join(f"{v:14.1f}" for v in cells))
    print("energies go through OpenMM's Python interface, with its cost; steps do not.")
    return True


def dihedral(x, atoms):
    """Of conformations n×A×3, in degrees."""
    a, b, c, d = (x[:, i] for i in atoms)
    b1, b2, b3 = b - a, c - b, d - c
    n1, n2 = np.cross(b1, b2), np.cross(b2, b3)
    y = np.linalg.norm(b2, axis=1) * (b1 * n2).sum(1)
    return np.degrees(np.arctan2(y, (n1 * n2).sum(1)))


def umbrella(a, solvent):
    """Frames of OpenMM's dynamics with a stiff spring on φ and a wall about the window of ψ.

    All atoms have the mass of carbon, which changes no average of positions and allows steps of 2 fs.
    """
    s = system(solvent)
    for i in range(s.getNumParticles()):
        s.setParticleMass(i, 12)
    turn = "min(d, 6.283185307179586 - d)"
    spring = mm.CustomTorsionForce(f"1000*e^2; e={turn}; d=abs(theta - ({np.radians(-70)}))")
    spring.addTorsion(*PHI, [])
    wall = mm.CustomTorsionForce(f"1000*max(0, e - {np.radians(20)})^2; e={turn}; d=abs(theta - {np.radians(150)})")
    wall.addTorsion(*PSI, [])
    s.addForce(spring)
    s.addForce(wall)
    i = mm.LangevinMiddleIntegrator(300 * unit.kelvin, 8 / unit.picosecond, 2 * unit.femtosecond)
    i.setRandomNumberSeed(1)
    c = simulate(s, i, "Reference")
    c.setPositions(start() * 0.1)
    c.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    i.step(5000)
    frames, end = [], time.perf_counter() + 60 * a.minutes
    while time.perf_counter() < end:
        i.step(40)
        frames.append(c.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.angstrom))
    x = np.array(frames)
    print(f"OpenMM: {len(x)} frames, 80 fs apart; φ {dihedral(x, PHI).mean():.2f}° ± {dihedral(x, PHI).std():.2f}°")
    return dihedral(x, PSI).reshape(1, -1)


PROBLEM = """
name: window
set:
  kind: molecule
  atoms: 22
  dihedrals: [{name: phi, atoms: [4, 6, 8, 14], value: -70}, {name: psi, atoms: [6, 8, 14, 16], range: [130, 170]}]
potential: {kind: amber, molecule: alanine-dipeptide, solvent: SOLVENT}
observe: [{name: psi, expr: "dihedral(x[18:21], x[24:27], x[42:45], x[48:51])"}]
process: {friction: 2}
sample: {method: splitting, measure: level, step: 0.012, chains: 32, burn: 3000, draws: DRAWS, thin: 100}
"""


def sampled(a, solvent):
    """ψ of `landing mcmc` on Σ, chains × draws."""
    with tempfile.TemporaryDirectory() as d:
        text = PROBLEM.replace("SOLVENT", solvent).replace("DRAWS", str(a.draws // 32))
        with open(f"{d}/window.yaml", "w") as f:
            f.write(text)
        command = [os.path.abspath(a.landing), "mcmc", "window.yaml", "-o", "x.npy", "--json"]
        subprocess.run(command, cwd=d, check=True, capture_output=True, text=True)
        x = np.load(f"{d}/x.npy")
    psi = dihedral(x.reshape(-1, 22, 3), PSI).reshape(x.shape[:2])
    print(f"landing mcmc: {psi.size} frames of {len(psi)} chains")
    return psi


def made(a, solvent):
    """ψ of `landing make alanine`, chains × frames."""
    with tempfile.TemporaryDirectory() as d:
        command = [os.path.abspath(a.landing), "make", "alanine", "-n", str(a.draws), "--solvent", solvent, "-o", "x.npy"]
        subprocess.run(command, cwd=d, check=True, capture_output=True, text=True)
        x = np.load(f"{d}/x.npy")
    print(f"landing make alanine: {len(x)} frames")
    psi = dihedral(x, (3, 4, 6, 8))
    return psi[:len(psi) // 64 * 64].reshape(-1, 64).T


KT = 0.0019872043 * 300 * KCAL  # kJ/mol
EDGES = np.linspace(130, 170, 11)


def profile(psi):
    """F(ψ) in the window in kJ/mol, and its standard errors from blocks of the series."""
    blocks = np.array_split(psi, 16, axis=1) if len(psi) == 1 else [psi[i::16] for i in range(16)]
    share = lambda v: np.histogram(v, EDGES, density=True)[0] * np.diff(EDGES)
    p, parts = share(psi), np.array([share(b) for b in blocks])
    return -KT * np.log(p), KT * parts.std(0, ddof=1) / np.sqrt(16) / p


def window(a):
    ok = True
    solvent = "obc2"
    theirs_f, theirs_e = profile(umbrella(a, solvent))
    for name, psi in (("landing mcmc", sampled(a, solvent)), ("landing make alanine", made(a, solvent))):
        f, e = profile(psi)
        diff, error = f - theirs_f, np.hypot(e, theirs_e)
        print(f"F(ψ) of {name} and of OpenMM, kJ/mol")
        for k, d in enumerate(diff):
            print(f"  {EDGES[k]:.0f}° to {EDGES[k + 1]:.0f}°: {f[k]:.2f} ± {e[k]:.2f}, {theirs_f[k]:.2f} ± {theirs_e[k]:.2f}, "
                  f"difference {d:+.2f} ± {error[k]:.2f}")
        worst = np.abs(diff).max()
        ok = ok and worst < 0.5
        print(f"  largest difference {worst:.2f}, limit 0.5: {'ok' if worst < 0.5 else 'TOO LARGE'}")
    return ok


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["terms", "speed", "window"])
    p.add_argument("--landing", default="./landing")
    p.add_argument("--count", type=int, default=4, help="conformations")
    p.add_argument("--seconds", type=float, default=5, help="of each timing")
    p.add_argument("--minutes", type=float, default=5, help="of OpenMM's dynamics in window")
    p.add_argument("--draws", type=int, default=12800, help="frames of ours in window")
    p.add_argument("--write", default="openmm.npz", help="NPZ file of conformations and OpenMM's numbers, of terms")
    a = p.parse_args()
    sys.exit(0 if {"terms": terms, "speed": speed, "window": window}[a.what](a) else 1)


if __name__ == "__main__":
    main()
