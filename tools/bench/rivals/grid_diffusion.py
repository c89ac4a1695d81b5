"""A diffusion model that does not know the grid, and PYPOWER behind it: the rival of docs/history/grids.md.

    python grid_diffusion.py draw rows.csv --seconds 360 -n 2000 -o drawn.csv      # PyTorch
    python grid_diffusion.py solve case14.m drawn.csv -o solved.csv                # PYPOWER

`draw` trains a denoising diffusion model (Ho et al. 2020) of the standardised columns for so many seconds of
processor time: x_t = √ā_t x_0 + √(1 − ā_t) ε with their schedule of ā, and a network of three hidden layers that
predicts ε. Adam has a falling rate, and the weights are averaged. Samples are drawn by the reverse chain. With --keep a
training that is terminated (SIGTERM) goes on when it is called again.

`solve` starts Newton's method at each drawn state. It keeps the loads, the voltages of generators, and the active
generation but that of the reference. It prints how many load flows have a solution, and how many solutions violate a
limit by more than 1e-6 per unit. It writes the solutions.
"""

import argparse
import math
import os
import signal
import time

import numpy as np


def draw(args):
    import torch
    from torch import nn

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    began = time.process_time()
    with open(args.file) as f:
        header = f.readline()
    rows = torch.tensor(np.loadtxt(args.file, delimiter=",", skiprows=1), dtype=torch.float32)
    mean, sd = rows.mean(0), rows.std(0)
    data, d = (rows - mean) / sd, rows.shape[1]
    β = torch.linspace(1e-4, 0.02, args.steps) * 1000 / args.steps
    ā = torch.cumprod(1 - β, 0)
    waves = math.pi * 2.0 ** torch.arange(6)
    sizes = [d + 2 * len(waves)] + 3 * [args.width]
    layers = [part for i, o in zip(sizes, sizes[1:]) for part in (nn.Linear(i, o), nn.SiLU())]
    net = nn.Sequential(*layers, nn.Linear(args.width, d))
    adam = torch.optim.Adam(net.parameters(), lr=args.rate)
    average = [p.detach().clone() for p in net.parameters()]

    def noise(x, t):
        angle = (t / args.steps)[:, None] * waves
        return net(torch.cat([x, torch.sin(angle), torch.cos(angle)], 1))

    updates, before, stopped = 0, 0, []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    if args.keep and os.path.exists(args.keep):
        kept = torch.load(args.keep)
        net.load_state_dict(kept["net"])
        adam.load_state_dict(kept["adam"])
        average, updates, before = kept["average"], kept["updates"], kept["spent"]
        torch.manual_seed(args.seed + updates)
    while (spent := before + time.process_time() - began) < args.seconds:
        if stopped and args.keep:
            torch.save({"net": net.state_dict(), "adam": adam.state_dict(), "average": average, "updates": updates,
                        "spent": spent}, args.keep)
            raise SystemExit(f"terminated after {updates} updates, {spent:.3g} s")
        adam.param_groups[0]["lr"] = args.rate * 0.5 * (1 + math.cos(math.pi * spent / args.seconds))
        x = data[torch.randint(len(data), (args.batch,))]
        t = torch.randint(args.steps, (args.batch,))
        ε = torch.randn_like(x)
        loss = ((noise(ā[t, None].sqrt() * x + (1 - ā[t, None]).sqrt() * ε, t) - ε) ** 2).mean()
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        updates += 1
        with torch.no_grad():
            torch._foreach_lerp_(average, list(net.parameters()), max(1e-3, 1 / updates))
    with torch.no_grad():
        for p, a in zip(net.parameters(), average):
            p.copy_(a)
        began = time.process_time()
        x = torch.randn(args.number, d)
        for k in reversed(range(args.steps)):
            ε = noise(x, torch.full((args.number,), k))
            before = ā[k - 1] if k else torch.tensor(1.0)
            x0 = (x - (1 - ā[k]).sqrt() * ε) / ā[k].sqrt()
            x = (before.sqrt() * β[k] * x0 + (1 - β[k]).sqrt() * (1 - before) * x) / (1 - ā[k])
            x += (β[k] * (1 - before) / (1 - ā[k])).sqrt() * torch.randn_like(x)
    print(f"{updates} updates, loss {loss.item():.3f}; {(time.process_time() - began) / args.number:.2g} s a sample")
    write(args.output, header, (x * sd + mean).numpy())


def solve(args):
    from pypower.api import ppoption
    from pypower.idx_brch import RATE_A
    from pypower.idx_bus import PD, QD, VMAX, VMIN
    from pypower.idx_gen import PMAX, PMIN, QMAX, QMIN
    from pypower.newtonpf import newtonpf
    from pypower_flows import network, read

    with open(args.file) as f:
        header = f.readline()
    names = header.strip().split(",")
    case, out, broken, iterations = read(args.case), [], {}, []
    states = np.loadtxt(args.file, delimiter=",", skiprows=1, ndmin=2)
    feasible, began = 0, time.process_time()
    for x in states:
        ppc, numbers, (y, yf, yt), s, v, kinds = network(case, dict(zip(names, x)))
        v, ok, count = newtonpf(y, s, v, *kinds, ppoption(PF_TOL=1e-10, VERBOSE=0))
        if not ok:
            continue
        iterations.append(count)
        bus, gen, branch, base = ppc["bus"], ppc["gen"], ppc["branch"], ppc["baseMVA"]
        load = bus[:, [PD, QD]].T / base
        power = v * np.conj(y * v) + load[0] + 1j * load[1]  # what the generators of a bus feed in
        value = {"V": abs(v), "theta": np.angle(v), "Pg": power.real, "Qg": power.imag, "Pd": load[0], "Qd": load[1]}
        out.append([value[q][numbers.index(int(n))] for q, n in (name.split("_") for name in names)])
        over = {"V": max((abs(v) - bus[:, VMAX]).max(), (bus[:, VMIN] - abs(v)).max())}
        for q, low, high in (("Pg", PMIN, PMAX), ("Qg", QMIN, QMAX)):
            for i in set(gen[:, 0].astype(int)):
                own = gen[gen[:, 0] == i]
                over[q] = max(over.get(q, 0), value[q][i] - own[:, high].sum() / base, own[:, low].sum() / base - value[q][i])
        rate = np.where(branch[:, RATE_A] > 0, branch[:, RATE_A] / base, np.inf)
        for m, end in ((yf, 0), (yt, 1)):
            flow = abs(v[branch[:, end].astype(int)] * np.conj(m * v))
            over["flow"] = max(over.get("flow", 0), (flow - rate).max())
        feasible += max(over.values()) <= 1e-6
        for q, by in over.items():
            broken[q] = broken.get(q, 0) + (by > 1e-6)
    spent = (time.process_time() - began) / len(states)
    print(f"{len(out)} of {len(states)} load flows have a solution, after {np.mean(iterations or [0]):.2g} iterations; "
          f"{feasible} keep all limits; violated by: { {q: int(n) for q, n in broken.items()} }; {spent:.2g} s a state")
    write(args.output, header, out)


def write(path, header, rows):
    with open(path, "w") as f:
        f.write(header)
        np.savetxt(f, rows, delimiter=",", fmt="%.17g")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
verbs = parser.add_subparsers(required=True)
verb = verbs.add_parser("draw")
verb.set_defaults(run=draw)
verb.add_argument("file", help="CSV of rows, as landing make grid writes it")
verb.add_argument("--seconds", type=float, default=360, help="processor time of the training")
verb.add_argument("-n", "--number", type=int, default=2000)
verb.add_argument("-o", "--output", required=True)
verb.add_argument("--keep", help="file of a training that is terminated")
for name, value in (("width", 512), ("batch", 1024), ("steps", 500), ("threads", 1), ("seed", 1)):
    verb.add_argument("--" + name, type=int, default=value)
verb.add_argument("--rate", type=float, default=1e-3)
verb = verbs.add_parser("solve")
verb.set_defaults(run=solve)
verb.add_argument("case")
verb.add_argument("file", help="CSV of states")
verb.add_argument("-o", "--output", required=True)
args = parser.parse_args()
args.run(args)
