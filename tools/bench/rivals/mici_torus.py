"""Effective draws a second of mici's dynamic HMC beside those of `landing mcmc`.

    pip install mici numpy
    go build -o landing ./cmd/landing
    python tools/bench/rivals/mici_torus.py --landing ./landing

The law is exp(b·x) by area on the torus with radii 2 and 0.6. Both sides run four
chains in one process on one core, warm-up included in neither time; the draws of both
go through the same estimate of the effective sample size, and the least of the three
coordinates counts. Derivatives are written by hand on mici's side and come from a
formula on ours. Without mici the script says so and ends.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

for v in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(v, "1")

try:
    import mici
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install mici numpy)")
    sys.exit(0)

B = np.array([1.5, 0.5, -1.0])
R, r = 2.0, 0.6


def constraint(q):
    return np.array([np.hypot(np.hypot(q[0], q[1]) - R, q[2]) - r])


def gradient(q):
    rho = np.hypot(q[0], q[1])
    s = np.hypot(rho - R, q[2])
    a = (rho - R) / (s * rho)
    return np.array([[a * q[0], a * q[1], q[2] / s]])


def ess(draws):
    """S/τ of draws (chains × draws) by Geyer's initial monotone sequence."""
    half = draws.shape[1] // 2
    x = np.concatenate([draws[:, :half], draws[:, -half:]])
    m, n = x.shape
    c = x - x.mean(axis=1, keepdims=True)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    f = np.fft.rfft(c, size)
    acov = np.fft.irfft(f * np.conj(f), size)[:, :n] / n
    within = acov[:, 0].mean() * n / (n - 1)
    var = within * (n - 1) / n + x.mean(axis=1).var(ddof=1)
    rho = 1 - (within - acov.mean(axis=0) * n / (n - 1)) / var
    rho[0] = 1
    tau, last = -1.0, np.inf
    for t in range(0, n - 1, 2):
        pair = min(rho[t] + rho[t + 1], last)
        if pair <= 0:
            break
        tau, last = tau + 2 * pair, pair
    return m * n / max(tau, 1 / np.log10(m * n))


def least(draws):
    return min(ess(draws[:, :, j]) for j in range(3))


def theirs(warm, main):
    rng = np.random.default_rng(1)
    system = mici.systems.DenseConstrainedEuclideanMetricSystem(
        neg_log_dens=lambda q: -B @ q,
        grad_neg_log_dens=lambda q: -B,
        constr=constraint,
        jacob_constr=gradient,
        dens_wrt_hausdorff=True,
    )
    integrator = mici.integrators.ConstrainedLeapfrogIntegrator(system)
    sampler = mici.samplers.DynamicMultinomialHMC(system, integrator, rng)
    starts = [np.array([2.6 * np.cos(a), 2.6 * np.sin(a), 0.0]) for a in range(4)]
    adapters = [mici.adapters.DualAveragingStepSizeAdapter(0.8)]
    trace = [lambda state: {"q": state.pos}]
    options = dict(trace_funcs=trace, n_process=1, display_progress=False)
    warmed = sampler.sample_chains(warm, 1, starts, adapters=adapters, **options)
    begin = time.perf_counter()
    out = sampler.sample_chains(0, main, warmed.final_states, **options)
    seconds = time.perf_counter() - begin
    return np.stack([np.asarray(q) for q in out.traces["q"]]), seconds


def ours(landing, method, draws):
    with tempfile.TemporaryDirectory() as folder:
        problem, file = os.path.join(folder, "p.yaml"), os.path.join(folder, "draws.npy")
        with open(problem, "w") as f:
            f.write(
                f"name: torus\nset: {{kind: torus, major: {R}, minor: {r}}}\n"
                'potential: {kind: formula, expr: "-1.5*x[0] - 0.5*x[1] + x[2]"}\n'
                f"sample: {{method: {method}, chains: 4, draws: {draws}, thin: 1}}\n"
            )
        command = [landing, "mcmc", problem, "-o", file, "--json", "--workers", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return np.load(file), json.loads(done.stdout)["seconds"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--landing", default="./landing", help="our command")
    p.add_argument("--draws", type=int, default=500, help="of each of mici's chains")
    a = p.parse_args()
    rows = [("mici dynamic HMC", *theirs(200, a.draws))]
    rows += [(f"landing {m}", *ours(a.landing, m, n)) for m, n in (("splitting", 20000), ("chmc", 5000))]
    for name, draws, seconds in rows:
        mean = ", ".join(f"{v:.3f}" for v in draws.mean(axis=(0, 1)))
        n = least(draws)
        print(f"{name:18} E x = ({mean})  {n:8.0f} effective draws in {seconds:6.2f} s: {n / seconds:8.0f} a second")


if __name__ == "__main__":
    main()
