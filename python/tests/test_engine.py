"""landing.torch.fit trains as the binary does: the same rows, losses, weights and checkpoints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import landing

torch = pytest.importorskip("torch")

from test_torch import ALL, BASE, CASES, MLP, process, sphere  # noqa: E402

from landing import _binary, _engine  # noqa: E402

TRAIN = {"epochs": 10, "batch": 30, "times_per_path": 2, "precision": "float32"}
MORE = {"train": {**TRAIN, "optimizer": "muon", "window": 0.5, "anneal": 0.5, "clip": 0.1, "refresh": 3}}
SAME = {name: CASES[name] for name in ("given", "given, no momentum", "gaussian", "temporal, given", "aligned")} | {
    "muon, averaged": ({"kind": "sphere", "dim": 14}, sphere, "ULLA", {**MLP, **ALL, "layers": 4, "output": "balanced"}, MORE)}


def problem(case: str = "muon, averaged", **train: object) -> tuple[landing.Problem, np.ndarray]:
    kind, data, method, network, more = SAME[case]
    keys = {**BASE, "train": TRAIN, **more}
    keys["train"] = {**keys["train"], **train}
    return landing.Problem("t", set=kind, process=process(method), network=network, **keys), data()


def weights(run: landing.Run) -> dict:
    arrays = landing.torch.read_safetensors(run.network()["file"])
    return {k: v.double() for k, v in arrays.items()}


def off(a: landing.Run, b: landing.Run, prefix: str = "") -> float:
    one, two = weights(a), weights(b)
    assert one.keys() == two.keys()
    return max(float((one[k] - two[k]).abs().max()) for k in one if k.startswith(prefix))


def logged(run: landing.Run, kind: str) -> list:
    lines = (run.path / "metrics.jsonl").read_text().splitlines()
    return [m["data"] for m in map(json.loads, lines) if m["kind"] == kind]


@pytest.mark.parametrize("case", SAME)
def test_same_as_native(case: str) -> None:
    """20 updates: losses to 1e-5, gradient norms too, weights and moments to 2e-6."""
    p, x = problem(case)
    native, fitted = landing.train(p, x), landing.torch.fit(p, x, device="cpu")
    for a, b in zip(logged(native, "epoch"), logged(fitted, "epoch"), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-5)
        assert a["grad_norm"] == pytest.approx(b["grad_norm"], rel=1e-4)
        assert (a["rows"], a["rate"]) == (b["rows"], b["rate"])
    # Adam divides a gradient that is round-off alone by its own size: the aligned network has some.
    assert off(native, fitted, "adam_m." if case == "aligned" else "") < 2e-6
    if "given" not in case:
        assert fitted.generate(5, seed=1).shape[0] == 5


def test_goes_on_either_way() -> None:
    """A training that PyTorch began goes on natively, and the other way round, to the same weights."""
    p, x = problem(evaluate_every=2)
    whole = landing.train(p, x)
    half = {"settings": {"train.epochs": 5, "train.anneal": 0}}
    last = {"settings": {"train.epochs": 10}}
    want = landing.train(p, x, **half).resume(**last)
    mixed = landing.torch.fit(p, x, device="cpu", **half).resume(**last)
    other = landing.torch.fit(landing.train(p, x, **half), device="cpu", **last)
    assert off(want, mixed) < 2e-6 and off(want, other) < 2e-6 and other.epoch == whole.epoch == 10
    assert len(logged(mixed, "evaluation")) == 5


def test_stops_by_held_out_losses() -> None:
    """The stopping rule hears the same losses."""
    p, x = problem(epochs=400, batch=100, stop="held_out_loss")[0], sphere(400)
    runs = landing.train(p, x), landing.torch.fit(p, x, device="cpu")
    a, b = ([(m["epoch"], m["distance"]) for m in logged(r, "held-out")] for r in runs)
    assert len(a) > 2 and [e for e, _ in a] == [e for e, _ in b]
    np.testing.assert_allclose([v for _, v in a], [v for _, v in b], rtol=1e-3)


SCRIPT = """
import sys, torch, landing, landing.torch
torch.set_num_threads(1)
landing.torch.fit(sys.argv[1], sys.argv[2], device="cpu", out=sys.argv[3], progress=False, workers=1)
"""


def start(out: str, *python: str, **train: object) -> subprocess.Popen[bytes]:
    p, x = problem(**train)
    p.save("p.yaml")
    np.save("x.npy", x)
    Path("fit.py").write_text(SCRIPT)
    env = {**os.environ, "LANDING_BINARY": _binary.binary(), "OMP_NUM_THREADS": "1",
           "PYTHONPATH": str(Path(landing.__file__).parents[1])}
    return subprocess.Popen([sys.executable, *python, "fit.py", "p.yaml", "x.npy", out], env=env)


def begun(out: str, process: subprocess.Popen[bytes]) -> None:
    until = time.time() + 60
    while not list(Path(out).glob("checkpoints/*/state.json")):
        assert process.poll() is None and time.time() < until
        time.sleep(0.05)


def test_two_processes() -> None:
    """torchrun divides rows: the weights are those of one process, but for sums in another order."""
    p, x = problem()
    two = start("two", "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")
    assert two.wait(timeout=120) == 0
    assert off(landing.torch.fit(p, x, device="cpu"), landing.Run.open("two")) < 2e-6


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped(how: signal.Signals) -> None:
    """Ctrl-C keeps all that was trained, within a second or so; a killed process leaves the run whole."""
    training = start("out", epochs=10**6, checkpoint_every=0.3)
    begun("out", training)
    before = time.time()
    training.send_signal(how)
    assert training.wait(timeout=30) != 0 and time.time() - before < 15  # of a loaded machine
    until = time.time() + 20
    while landing.Run.open("out").state == "training" and time.time() < until:
        time.sleep(0.1)  # the program notices a killed process by its pipe
    run = landing.Run.open("out")
    assert run.state == ("interrupted" if how == signal.SIGINT else "failed")
    last = run.epoch
    assert run.resume(max_time=1).epoch > 0 and run.state == "interrupted"
    assert last > 0 and not list(Path("out").rglob("*.tmp-*"))


@pytest.mark.skipif(shutil.which("pgrep") is None, reason="finds the process by pgrep")
def test_a_process_of_two_is_killed() -> None:
    both = start("out", "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", epochs=10**6)
    begun("out", both)
    children = subprocess.run(["pgrep", "-P", str(both.pid)], capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(children[-1]), signal.SIGKILL)
    assert both.wait(timeout=90) != 0
    assert landing.Run.open("out").generate(3, seed=1).shape == (3, 14)


def test_no_room_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    p, x = problem()
    with monkeypatch.context() as m:
        m.setattr(_engine._Model, "gradient", full)
        with pytest.raises(landing.LandingError, match=r"no room for a batch of 60 rows and .*train\.times_per_path"):
            landing.torch.fit(p, x, device="cpu", out="out")
    assert landing.torch.fit("out", device="cpu").epoch == 10


def test_a_checkpoint_of_another_network() -> None:
    """It is refused, and the folder keeps its bytes."""
    p, x = problem(epochs=2)
    run, other = landing.train(p, x), landing.train(p, x, settings={"network.width": 8})
    place = run.path / "checkpoints" / run.checkpoints[-1]
    shutil.rmtree(place)
    shutil.copytree(other.path / "checkpoints" / other.checkpoints[-1], place)

    def kept() -> dict:
        return {f: f.read_bytes() for f in run.path.rglob("*") if f.is_file()}

    before = kept()
    for use in (lambda: landing.torch.fit(run, device="cpu", settings={"train.epochs": 4}), lambda: landing.torch.load(run)):
        with pytest.raises(landing.DataError, match="belongs to another problem"):
            use()
    assert kept() == before


def test_refusals() -> None:
    p, x = problem()
    for bad in ({"device": "abacus"}, {"device": "meta"}, {"precision": "float16"}):
        with pytest.raises(landing.UsageError):
            landing.torch.fit(p, x, **bad)
    wide = landing.Problem("t", set={"kind": "stiefel", "n": 30, "p": 29}, process=process("ULLA"), network=MLP,
                           **{**BASE, "train": {**TRAIN, "batch": 60, "times_per_path": 6}})
    frames = np.linalg.qr(np.random.default_rng(5).normal(size=(60, 30, 29)))[0].reshape(60, 870)
    with pytest.raises(landing.UsageError, match=r"a batch of \d+ rows with 435×870 normals .* train without PyTorch"):
        landing.torch.fit(wide, frames, device="cpu")
    if not torch.cuda.is_available():
        with pytest.raises(landing.UsageError, match="sees no GPU"):
            landing.torch.fit(p, x, device="cuda")
    flow = landing.Problem("t", set={"kind": "sphere", "dim": 14}, process={"method": "flow"}, network=MLP,
                           defaults="fixed", train=TRAIN)
    with pytest.raises(landing.LandingError, match="PyTorch cannot train this method"):
        landing.torch.fit(flow, x, device="cpu")
    one, two = landing.train(p, x), landing.train(*problem(batch=20))
    shutil.rmtree(two.path / "checkpoints")
    shutil.copytree(one.path / "checkpoints", two.path / "checkpoints")
    with pytest.raises(landing.DataError, match="belongs to another problem"):
        landing.torch.fit(two, device="cpu")
