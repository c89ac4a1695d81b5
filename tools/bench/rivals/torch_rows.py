"""Times the rows of tools/bench/rows_test.go in PyTorch, on the CPU.

    pip install torch numpy
    python torch_rows.py --threads 1,2 --only step --seconds 10

prints one JSON object a row and line: name, threads, precision, variant and the
best, median and 99 % time in seconds.

Rows are the same work as ours: an update is forward paths to network rows and
targets, forward pass, loss, backward pass, clipping, Adam, average of the
weights. Each row is timed in every variant that it has (eager, compiled, Adam in
two ways), and the fastest is reported.
"""

import argparse
import json
import re
import sys
import time

import torch
import torch._dynamo
import torch._inductor.config
from torch import nn

from torch_temporal import Temporal

torch._dynamo.config.recompile_limit = 1000  # one function, many networks
torch.set_flush_denormal(True)
torch.manual_seed(1)

# dim, width, hidden layers, paths, times, σ_min, σ_max, friction, horizon: as in tools/bench/rows_test.go
SHAPES = {
    "volcano": (3, 512, 5, 128, 50, 0.1, 2.0, 5.0, 2.0),
    "arm": (140, 1024, 5, 320, 50, 0.1, 0.5, 5.0, 1.0),
    "arm40": (560, 1024, 5, 320, 50, 0.1, 0.5, 5.0, 1.0),
}
TEMPORAL = {"arm-temporal": ("arm", 10), "arm40-temporal": ("arm40", 40)}  # the shape, and steps of a point
for name, (shape, _) in TEMPORAL.items():
    SHAPES[name] = SHAPES[shape]
PRODUCTS = [(6400, 512), (16000, 1024)]
ROWS = [1, 64, 2000]


class Rows(nn.Module):
    """The temporal network, with its defaults, of rows (x, p̃, t)."""

    def __init__(self, dim, steps):
        super().__init__()
        self.dim, self.net = dim, Temporal(steps, dim // steps, 0, True, 0, 0, 64, 2, 1, 1, 128)

    def forward(self, rows):
        return self.net(rows[:, :self.dim], rows[:, self.dim:-1], rows[:, -1])


def network(shape):
    dim, width, layers = SHAPES[shape][:3]
    if shape in TEMPORAL:
        return Rows(dim, TEMPORAL[shape][1])
    sizes = [2 * dim + 1] + [width] * layers + [dim]
    parts = []
    for i, o in zip(sizes, sizes[1:]):
        parts += [nn.Linear(i, o), nn.SiLU(inplace=True)]
    return nn.Sequential(*parts[:-1])


def products(name):
    """One of a layer's three products."""
    rows, n = {f"{r}x{n}x{n}": (r, n) for r, n in PRODUCTS}[name.split("/")[1]]
    x, y, w = torch.randn(rows, n), torch.randn(rows, n), torch.randn(n, n)
    wt = w.t()
    yt = y.t()
    dw, out = torch.empty(n, n), torch.empty(rows, n)
    once = {
        "forward": lambda: torch.mm(x, wt, out=out),
        "input": lambda: torch.mm(y, w, out=out),
        "weights": lambda: torch.mm(yt, x, out=dw),
    }[name.split("/")[2]]
    return {"mm": once}


def inference(name):
    _, shape, rows = name.split("/")
    net = network(shape).eval()
    x = torch.randn(int(rows), 2 * SHAPES[shape][0] + 1)
    variants = {"eager": lambda: net(x)}
    if COMPILE:
        torch._inductor.config.freezing = True  # constant weights, packed once
        compiled = torch.compile(net, dynamic=False)
        variants["compiled"] = lambda: compiled(x)
    return variants


class Step:
    """An update of the CWPM loss's network on the unit sphere, implicit landing aside: its rows come from given paths."""

    def __init__(self, shape, precision, compiled, foreach):
        dim, _, _, paths, times, lo, hi, friction, horizon = SHAPES[shape]
        self.net = network(shape)
        self.average = [p.detach().clone() for p in self.net.parameters()]
        self.params = list(self.net.parameters())
        how = {"foreach": True} if foreach else {"fused": True}
        self.adam = torch.optim.Adam(self.params, lr=1e-5, **how)
        self.precision = precision
        x = torch.randn(paths, 1, dim) + 0.1 * torch.randn(paths, times + 1, dim).cumsum(1)
        self.x = x / x.norm(dim=-1, keepdim=True)
        self.last = torch.randn(paths, 1, dim)
        σ = torch.linspace(lo, hi, times).view(1, times, 1)
        dt = horizon / times
        self.τ = σ * σ * dt
        self.a = torch.exp(-friction * self.τ)
        b = torch.sqrt(1 - self.a * self.a)
        self.scale, self.c = 1 / (self.τ * b), -self.τ / b
        self.t = (dt * torch.arange(1, times + 1)).view(1, times, 1).expand(paths, times, 1)
        self.loss = torch.compile(self.evaluate, dynamic=False) if compiled else self.evaluate

    def evaluate(self):
        """Rows (x_{k+1}, p̃, t) and targets of every path and time, network, loss."""
        x0, x1 = self.x[:, :-1], self.x[:, 1:]

        def tangent(v):
            return v - x1 * (x1 * v).sum(-1, keepdim=True)

        p = torch.cat([(self.x[:, 2:] - self.x[:, 1:-1]) / self.τ[:, :-1], self.last], 1)
        p = tangent(p)
        u = tangent(self.scale * (x0 - x1 + self.a * self.τ * p))
        rows = torch.cat([x1, p, self.t], -1).flatten(0, 1)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.precision == "bfloat16"):
            s = self.net(rows)
        r = u - self.c * tangent(s.float().view_as(u))
        return 0.5 * (r * r).sum() / self.x.shape[0]

    def __call__(self):
        self.adam.zero_grad(set_to_none=True)
        self.loss().backward()
        nn.utils.clip_grad_norm_(self.params, 10.0, foreach=True)
        self.adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.average, self.params, 0.001)


def steps(name, precision):
    shape = name.split("/")[1]
    variants = {"eager, foreach": Step(shape, precision, False, True), "eager, fused": Step(shape, precision, False, False)}
    if COMPILE:
        torch._inductor.config.freezing = False
        variants["compiled, fused"] = Step(shape, precision, True, False)
    return variants


def names():
    for r, n in PRODUCTS:
        for which in ("forward", "input", "weights"):
            yield f"product/{r}x{n}x{n}/{which}", "float32"
    for shape in SHAPES:
        yield f"step/{shape}", "float32"
        yield f"step/{shape}", "bfloat16"
    for shape in SHAPES:
        for rows in ROWS:
            yield f"inference/{shape}/{rows}", "float32"


def build(name, precision):
    kind = name.split("/")[0]
    return products(name) if kind == "product" else steps(name, precision) if kind == "step" else inference(name)


CACHE = {}
COMPILE = True


def measure(name, threads, precision, seconds):
    torch.set_num_threads(threads)
    key = (name, precision, threads)  # compiled code is for a number of threads
    if key not in CACHE:
        CACHE[key] = build(name, precision)
    variants = CACHE[key]
    best = None
    # The network of a step is trained, that of an inference is not: nothing else needs gradients.
    with torch.inference_mode(not name.startswith("step")):
        for variant, once in variants.items():
            once()
            times, start, processor = [], time.perf_counter(), time.process_time()
            while not times or time.perf_counter() - start < seconds / len(variants):
                t = time.perf_counter()
                once()
                times.append(time.perf_counter() - t)
            processor = (time.process_time() - processor) / len(times)
            times.sort()
            if best is None or times[0] < best["best_seconds"]:
                best = {
                    "name": name, "threads": threads, "precision": precision, "variant": variant, "runs": len(times),
                    "best_seconds": times[0], "p50_seconds": times[len(times) // 2],
                    "p99_seconds": times[min(len(times) - 1, int(0.99 * len(times)))], "cpu_seconds": processor,
                }
    return best


def main():
    global COMPILE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--only", default="", help="only rows whose name matches this regular expression")
    parser.add_argument("--seconds", type=float, default=6, help="for each row (default 6)")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, which needs a C++ compiler")
    args = parser.parse_args()
    COMPILE = not args.no_compile
    for name, precision in names():
        if re.search(args.only, name):
            for threads in args.threads.split(","):
                print(json.dumps(measure(name, int(threads), precision, args.seconds)), flush=True)


if __name__ == "__main__":
    main()
