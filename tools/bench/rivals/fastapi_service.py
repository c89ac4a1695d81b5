"""Samples of a landing run on the sphere over HTTP by FastAPI and PyTorch, to compare `landing serve` with.

    pip install fastapi uvicorn torch safetensors numpy pyyaml
    landing export RUN --torch SCORE
    python tools/bench/rivals/fastapi_service.py RUN SCORE --name volcano --port 8001

Network and backward steps are those of `landing generate`: ULLA with implicit landing, in float64 but for the network's
float32, from the ends of forward paths that the run keeps. On h(x) = |x| − 1 projector and landing have a closed form; all
rows of a call take a step together, and requests that wait are drawn as one call, so that PyTorch is given large products.
The noise is PyTorch's own: samples have the law of landing's, not their bytes.
"""
import argparse, asyncio, io, math, os, queue, sys, threading, warnings
from contextlib import asynccontextmanager

import numpy as np, torch, uvicorn, yaml
from fastapi import FastAPI, HTTPException, Response
from pydantic import BaseModel, Field


class Sampler:
    """The backward process of a run whose score `landing export --torch` wrote into a folder."""

    def __init__(self, run, folder):
        c = yaml.safe_load(open(os.path.join(run, "config.yaml")))
        p, σ = c["process"], c["process"]["sigma"]
        for what, ok in {
            "set": c["set"]["kind"] == "sphere" and c["set"].get("radius", 1) == 1, "prior": c["prior"] == "empirical",
            "method": p["method"] == "ULLA", "noise": p.get("noise", "late") == "late", "curvature": not p["curvature"],
            "landing": p["landing"]["mode"] == "implicit", "convention": c["convention"] == "reference",
            "potential": c["potential"]["kind"] == "zero", "condition": not c.get("condition"),
        }.items():
            if not ok:
                sys.exit(f"{run}: {what} is none that this service draws with: unit sphere, ULLA, implicit landing, "
                         "no curvature, an empirical prior")
        self.N, γ = p["steps"], p["friction"]
        u, Δt = np.arange(self.N + 1) / self.N, p["horizon"] / self.N
        linear = σ["schedule"] == "linear"
        levels = σ["min"] + u * (σ["max"] - σ["min"]) if linear else σ["min"] * (σ["max"] / σ["min"]) ** u
        self.τ = (levels**2 * Δt).tolist()
        self.a = [math.exp(-γ * τ) for τ in self.τ]
        self.t = torch.arange(self.N + 1, dtype=torch.float64) * Δt
        self.ends = torch.from_numpy(np.load(os.path.join(run, "ends.npy")).astype(np.float64))
        sys.path.insert(0, folder)
        from score import Score  # the module that landing wrote

        rows = self.ends[:4], torch.zeros(4, 3, dtype=torch.float64), self.t[-1].repeat(4)
        with torch.inference_mode(), warnings.catch_warnings(action="ignore"):  # of constants, which these are
            self.score = torch.jit.freeze(torch.jit.trace(Score(folder).eval(), rows))

    @torch.inference_mode()
    def draw(self, asks):
        """Samples of asks (n, seed, first): an array n×3 of each."""
        starts, noise = [], []
        for n, *key in asks:
            g = torch.Generator().manual_seed(hash(tuple(key)) & (2**63 - 1))
            starts.append(torch.randint(len(self.ends), (n,), generator=g))
            noise.append(torch.randn(self.N + 1, n, 3, dtype=torch.float64, generator=g))
        x, ζ = self.ends[torch.cat(starts)], torch.cat(noise, 1)
        p = tangent(x, ζ[self.N])
        for k in reversed(range(self.N)):
            a, τ = self.a[k], self.τ[k]
            v = a * p + τ * self.score(x, p, self.t[k + 1].repeat(len(x))) + math.sqrt(1 - a * a) * ζ[k]
            y = torch.nn.functional.normalize(x - τ * tangent(x, v))  # landing at the proposal: y − (|y| − 1) y/|y|
            x, p = y, tangent(y, (x - y) / τ)
        return [part.numpy() for part in x.split([n for n, *_ in asks])]


def tangent(x, v):
    """Π(x)v = v − (x·v) x, of |x| = 1."""
    return torch.addcmul(v, x, (x * v).sum(1, keepdim=True), value=-1)


class Ask(BaseModel):
    n: int = Field(ge=1, le=100_000)
    seed: int = Field(0, ge=0)
    first: int = Field(0, ge=0)


def service(sampler, name, most):
    waiting = queue.SimpleQueue()

    def work(loop):
        while True:
            batch = [waiting.get()]
            while sum(ask[0] for ask, _ in batch) < most and not waiting.empty():
                batch.append(waiting.get())
            try:
                done = [(f, f.set_result, r) for (_, f), r in zip(batch, sampler.draw([ask for ask, _ in batch]))]
            except Exception as e:
                done = [(f, f.set_exception, e) for _, f in batch]
            for future, settle, what in done:  # a caller may have left
                loop.call_soon_threadsafe(lambda f=future, s=settle, w=what: f.done() or s(w))

    @asynccontextmanager
    async def lifespan(_):
        threading.Thread(target=work, args=(asyncio.get_running_loop(),), daemon=True).start()
        yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/healthz")
    async def healthz():
        return {"alive": True}

    @app.post("/v1/runs/{run}/samples")
    async def samples(run: str, ask: Ask):
        if run != name:
            raise HTTPException(404, f"there is no run {run}; there is {name}")
        future, out = asyncio.get_running_loop().create_future(), io.BytesIO()
        waiting.put(((ask.n, ask.seed, ask.first), future))
        np.save(out, await future)
        return Response(out.getvalue(), media_type="application/x-npy")

    return app


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("run")
    flags.add_argument("score", help="folder that landing export --torch wrote")
    flags.add_argument("--name", default="run")
    flags.add_argument("--port", type=int, default=8000)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--rows", type=int, default=2048, help="of a call; 1: every request is a call of its own")
    o = flags.parse_args()
    torch.set_num_threads(o.threads)
    uvicorn.run(service(Sampler(o.run, o.score), o.name, o.rows), port=o.port, log_level="warning")
