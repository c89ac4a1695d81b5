"""landing.torch agrees with the binary: every kind of network, every way of reading rows."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import TINY

import landing
from landing import _binary

torch = pytest.importorskip("torch")

BASE = {"defaults": "fixed", "prior": "empirical", "train": {"epochs": 1, "batch": 30, "times_per_path": 2}}
FORMULA = landing.Formulas(2, equality=["(x[0]/a)^2 + x[1]^2 = 1"])
CHAIN = {"kind": "chain", "bonds": [1.5, 1.2, 1.4, 1.5]}


def process(method: str) -> dict:
    return {"method": method, "steps": 6, "horizon": 0.3, "sigma": {"min": 0.1, "max": 1}}


def ellipses(n: int = 60) -> np.ndarray:
    draw = np.random.default_rng(1)
    a, t = draw.uniform(1, 2, n), draw.uniform(0, 6, n)
    return np.stack([a * np.cos(t), np.sin(t), a], 1)


def sphere(n: int = 60, d: int = 14) -> np.ndarray:
    x = np.random.default_rng(2).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def chains(n: int = 60) -> np.ndarray:
    u = np.random.default_rng(3).normal(size=(n, 4, 3))
    u *= np.array(CHAIN["bonds"])[:, None] / np.linalg.norm(u, axis=2, keepdims=True)
    return np.concatenate([np.zeros((n, 1, 3)), u.cumsum(1)], 1).reshape(n, -1)


ALL = {"octaves": 2, "time_octaves": 3, "wavelength": 5, "octaves_of": "start"}
PLACED = {**ALL, "time": "share", "center": [0.1, 0.2], "unit": 1.5}
MLP = {"width": 16, "layers": 2}
GIVEN = {"condition": {"columns": ["a"], "drop": 0.2}}
UNET = {"kind": "temporal", "output": "balanced"}
CASES = {
    "plain": ({"kind": "sphere", "dim": 14}, sphere, "ULLA", MLP, {}),
    "plain, no momentum": ({"kind": "sphere", "dim": 14}, sphere, "OLLA", MLP, {}),
    "given": (FORMULA, ellipses, "ULLA", {**MLP, **PLACED, "output": "scaled"}, GIVEN),
    "given, no momentum": (FORMULA, ellipses, "OLLA", {**MLP, **PLACED, "output": "balanced"}, GIVEN),
    "uneven": (FORMULA, ellipses, "ULLA", {**MLP, "center": [0.1, 0.2], "scales": [0.5, 0.02]}, GIVEN),
    "gaussian": ({"kind": "sphere", "dim": 14}, sphere, "ULLA", {**MLP, "kind": "gaussian", "output": "balanced"}, {}),
    "gaussian, no momentum": ({"kind": "sphere", "dim": 14}, sphere, "OLLA", {**MLP, "kind": "gaussian"}, {}),
    "flow": ({"kind": "sphere", "dim": 14}, sphere, "flow", MLP, {}),
    "temporal": ({"kind": "sphere", "dim": 14}, sphere, "ULLA",
                 {**UNET, **ALL, "options": {"steps": 7, "channels": 4, "levels": 3, "blocks": 2, "embedding": 8}}, {}),
    "temporal, given": (FORMULA, ellipses, "ULLA", {**UNET, **PLACED, "options": {"steps": 2, "channels": 4}}, GIVEN),
    "temporal, one level": ({"kind": "sphere", "dim": 14}, sphere, "OLLA",
                            {**UNET, "options": {"steps": 14, "channels": 3, "levels": 1, "reach": 2}}, {}),
    "aligned": (CHAIN, chains, "ULLA", {**MLP, **ALL, "kind": "aligned", "options": {"pairs": 2}}, {}),
    "aligned, no momentum": (CHAIN, chains, "OLLA", {**MLP, "kind": "aligned"}, {}),
}


def agree(run: landing.Run, x: np.ndarray) -> None:
    """Scores of both at points beside the set, at times of the process and between: to 1e-6 of their size."""
    told = run.network()
    draw, n, d = np.random.default_rng(4), len(x), told["dim"]
    x = x.reshape(n, d) + 0.05 * draw.normal(size=(n, d))
    p = draw.normal(size=(n, d)) if told["momentum"] else None
    times = np.array(told["times"])
    t = times[draw.integers(len(times), size=n)]
    t[::3] = draw.uniform(0, 1.1 * times[-1], size=len(t[::3]))
    for hidden in (False, True) if told["null"] else (False,):
        want = run.score(x, p, t, hide_condition=hidden)
        assert np.abs(want).max() > 0
        for kind in (torch.float32, torch.float64):
            net = landing.torch.load(run, dtype=kind)
            got = net(torch.tensor(x), None if p is None else torch.tensor(p), torch.tensor(t), hide_condition=hidden)
            assert got.dtype == kind
            np.testing.assert_allclose(got.detach().double().numpy(), want, rtol=0, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("case", CASES)
def test_agrees(case: str) -> None:
    kind, data, method, network, more = CASES[case]
    keys = {**BASE, "process": process(method)}
    if method == "flow":  # which has no use for the others
        keys = {"defaults": "fixed", "train": BASE["train"], "process": {"method": method}}
    problem = landing.Problem("t", set=kind, network=network, **keys, **more)
    agree(landing.train(problem, data()), data(50))


def test_agrees_on_torsions(folder: Path) -> None:
    """A molecule whose torsions the network reads: four carbons in a row, from a template."""
    def atom(i: int, at: np.ndarray) -> str:
        return f"ATOM  {i + 1:5d}  C{i + 1}  BUT A   1    {at[0]:8.3f}{at[1]:8.3f}{at[2]:8.3f}  1.00  0.00           C\n"

    draw = np.random.default_rng(5)
    base = np.array([[0, 0, 0], [1.5, 0, 0], [2, 1.4, 0], [3.5, 1.4, 0.3], [4, 2.8, 0.5]])
    bonds = "".join(f"CONECT{i + 1:5d}{i + 2:5d}\n" for i in range(4))
    Path("t.pdb").write_text("".join(atom(i, a) for i, a in enumerate(base)) + bonds + "END\n")
    frames = base + 0.1 * draw.normal(size=(60, 5, 3))
    step = frames[:, 1] - frames[:, 0]
    frames[:, 0] = frames[:, 1] - 1.5 * step / np.linalg.norm(step, axis=1, keepdims=True)
    problem = landing.Problem(
        "m", set={"kind": "molecule", "template": "t.pdb", "distances": [{"atoms": [0, 1], "value": 1.5}]},
        data={"kind": "molecule"}, process=process("ULLA"),
        network={**MLP, **ALL, "kind": "aligned", "output": "balanced", "options": {"pairs": 2, "torsions": 3}}, **BASE)
    run = landing.train(problem, frames)
    assert len(run.network()["torsions"]) == 2
    agree(run, frames[:40])


def test_agrees_on_few_steps(run: landing.Run, points: np.ndarray) -> None:
    """A student's gains are steps of time, not lines: they are exact at the times of its levels."""
    subprocess.run([_binary.binary(), "distill", run.path, "--out", "few", "-n", "200", "-q",
                    *(f"--set={k}={v}" for k, v in TINY.items())], check=True, capture_output=True)
    few = landing.Run.open("few")
    told = few.network()
    assert len(set(told["gain"])) > 1
    x, p, t = points[:40], np.ones_like(points[:40]), np.resize(told["times"], 40)
    want = few.score(x, p, t)
    got = landing.torch.load(few)(torch.tensor(x), torch.tensor(p), torch.tensor(t)).detach().numpy()
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def test_modules(run: landing.Run, points: np.ndarray) -> None:
    """What a module is expected to do: parameters, gradients, other types; and what it refuses."""
    net = landing.torch.load(str(run.path))
    x, p = torch.tensor(points[:4], requires_grad=True), torch.zeros(4, 3)
    t = run.network()["times"][2]
    net(x, p, t).sum().backward()
    assert x.grad is not None and torch.isfinite(x.grad).all() and not net.training
    assert all(q.grad is not None for q in net.parameters())
    assert sum(q.numel() for q in net.parameters()) == sum(len(v) for v in map(torch.flatten, net.parameters()))
    assert torch.allclose(net.double()(x, p, t), net(x.float(), p, t), rtol=1e-4)
    for bad in ((x[:, :2], p, t), (x, None, t), (x, p[:2], t)):
        with pytest.raises(landing.UsageError):
            net(*bad)
    with pytest.raises(landing.UsageError, match="condition"):
        net(x, p, t, hide_condition=True)


def test_a_network_that_is_not_known(run: landing.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(landing.torch._KINDS, "mlp")
    with pytest.raises(landing.UsageError, match="knows no network 'mlp'"):
        landing.torch.load(run)


def test_safetensors_that_are_damaged(run: landing.Run, folder: Path) -> None:
    whole = Path(run.network()["file"]).read_bytes()
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 999]}}).encode()
    for raw in (b"", whole[:40], struct.pack("<Q", 2**62) + b"{}", whole[:8] + b"x" * 400,
                struct.pack("<Q", len(header)) + header + b"\0" * 8, struct.pack("<Q", 2) + b"[]"):
        Path("w.safetensors").write_bytes(raw)
        with pytest.raises(landing.DataError, match="damaged"):
            landing.torch.read_safetensors("w.safetensors")
    with pytest.raises(landing.DataError, match="cannot be read"):
        landing.torch.read_safetensors("gone")
