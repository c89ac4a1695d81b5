# Solves the load flow of each state of a grid again by PYPOWER, from that state: how many iterations it takes, and the
# largest mismatch before the first. Use: python pypower_flows.py case14.m samples.csv [200]
import copy
import re
import sys

import numpy as np
from pypower.bustypes import bustypes
from pypower.ext2int import ext2int
from pypower.idx_bus import BUS_I, PD, QD, VA, VM
from pypower.idx_gen import GEN_BUS, GEN_STATUS, PG, QG
from pypower.makeSbus import makeSbus
from pypower.makeYbus import makeYbus
from pypower.newtonpf import newtonpf
from pypower.ppoption import ppoption


def read(path):
    text = re.sub(r"%.*|\.\.\..*\n", "", open(path, encoding="utf-8").read())
    out = {"version": "2", "baseMVA": float(re.search(r"\.baseMVA\s*=\s*([^;\s]+)", text).group(1))}
    for name in ("bus", "gen", "branch"):
        body = re.search(r"\.%s\s*=\s*\[([^\]]*)\]" % name, text).group(1)
        rows = [r.replace(",", " ").split() for r in re.split(r"[;\n]", body)]
        out[name] = np.array([[float(v) for v in r] for r in rows if r])
    missing = 21 - out["gen"].shape[1]
    out["gen"] = np.hstack([out["gen"], np.zeros((len(out["gen"]), max(missing, 0)))])
    return out


def network(case, value):
    """The case with a state's numbers by name, in PYPOWER's order of buses: it, the buses' numbers in the file, the
    admittance matrices (buses, branches at their first and at their second end), the power that flows in at the
    buses, their voltages, and their kinds (reference, PV, PQ)."""
    ppc = copy.deepcopy(case)
    base = ppc["baseMVA"]
    for b in ppc["bus"]:
        n = int(b[BUS_I])
        b[VM] = value["V_%d" % n]
        b[VA] = np.degrees(value["theta_%d" % n]) if "theta_%d" % n in value else b[VA]
        b[PD] = value.get("Pd_%d" % n, b[PD] / base) * base
        b[QD] = value.get("Qd_%d" % n, b[QD] / base) * base
        on = np.flatnonzero((ppc["gen"][:, GEN_BUS] == n) & (ppc["gen"][:, GEN_STATUS] > 0))
        for k, name in ((PG, "Pg_%d"), (QG, "Qg_%d")):
            if len(on) and name % n in value:  # all at the first of the bus
                ppc["gen"][on, k] = 0
                ppc["gen"][on[0], k] = value[name % n] * base
    ppc = ext2int(ppc)
    bus, gen = ppc["bus"], ppc["gen"]
    v = bus[:, VM] * np.exp(1j * np.radians(bus[:, VA]))
    numbers = [int(n) for n in ppc["order"]["bus"]["i2e"]]
    return (ppc, numbers, makeYbus(ppc["baseMVA"], bus, ppc["branch"]), makeSbus(ppc["baseMVA"], bus, gen), v,
            bustypes(bus, gen))


def main():
    case, samples, most = read(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with open(samples) as f:
        names = f.readline().strip().split(",")
    x = np.loadtxt(samples, delimiter=",", skiprows=1, ndmin=2)[:most]
    iterations, mismatches = [], []
    for row in x:
        _, _, (y, _, _), s, v, kinds = network(case, dict(zip(names, row)))
        off = v * np.conj(y * v) - s
        mismatches.append(max(abs(off.real).max(), abs(off.imag).max()))
        _, ok, count = newtonpf(y, s, v, *kinds, ppoption(PF_TOL=1e-8, VERBOSE=0))
        iterations.append(count if ok else np.inf)
    print("%d states: iterations %g at most, mismatch at most %.2g per unit"
          % (len(x), max(iterations), max(mismatches)))


if __name__ == "__main__":
    main()
