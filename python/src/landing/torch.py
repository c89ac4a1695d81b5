"""The trained score network as a torch.nn.Module, from the safetensors file of a run.

    net = landing.torch.load(run)
    s = net(x, p, t)             # n×d; p=None for overdamped processes
    run = landing.torch.fit("problem.yaml", "points.csv", device="cuda")   # trains in PyTorch

It reads rows as the binary does (package score of the sources): s(x, p, t) = m(t) F(row), where the row holds
x, p, t and the waves of each, all made in float64, and F runs in the type of its weights. m and where a path
began are tables over the times of the process, and linear between them.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError as e:
    raise ImportError("landing.torch needs PyTorch: pip install torch") from e

from ._errors import DataError, UsageError
from ._run import Run

__all__ = ["Score", "fit", "load", "read_safetensors"]

_MOST_HEADER = 100 << 20
_TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1"}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Reads a safetensors file: names and tensors. Nothing in it is executed.

    Raises:
        DataError: it is no such file, or is damaged.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as e:
        raise DataError(f"{path} cannot be read: {e.strerror or e}", file=str(path)) from e
    try:
        length = int.from_bytes(raw[:8], "little")
        if len(raw) < 8 or length > min(_MOST_HEADER, len(raw) - 8):
            raise ValueError("its header is longer than it")
        header = json.loads(raw[8 : 8 + length])
        body = memoryview(raw)[8 + length :]
        out = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            if not 0 <= begin <= end <= len(body):
                raise ValueError(f"{name} lies outside of it")
            a = np.frombuffer(body[begin:end], dtype=_TYPES[entry["dtype"]]).reshape(entry["shape"])
            out[name] = torch.from_numpy(a.astype(a.dtype.newbyteorder("="), copy=True))
        return out
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise DataError(f"{path} is no safetensors file, or is damaged: {e}", file=str(path)) from e


def load(run: Run | str | os.PathLike[str], *, checkpoint: str | None = None, dtype: torch.dtype = torch.float32) -> Score:
    """Returns the score network of a run, with the weights that samples are drawn with.

    Args:
        run: a Run, or the path of a run folder.
        checkpoint: None: the best by held-out distances, or the newest.
        dtype: of the weights. They were trained as float32: more digits make its products more exact.

    Raises:
        DataError: no run, or a damaged checkpoint. UsageError: a network that this module does not know.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    told = run.network(checkpoint)
    arrays = read_safetensors(told["file"])
    weights = {k[len(told["prefix"]):]: v for k, v in arrays.items() if k.startswith(told["prefix"])}
    constants = {k[len(told["constant"]):]: v for k, v in arrays.items() if k.startswith(told["constant"])}
    if told["kind"] not in _KINDS:
        raise UsageError(f"landing.torch knows no network {told['kind']!r}; expected one of {', '.join(_KINDS)}")
    net = Score(told, _KINDS[told["kind"]](told, weights, constants))
    # Buffers, which are tables of functions, keep their digits.
    for p in net.parameters():
        p.data = p.data.to(dtype)
    return net.eval()


def fit(
    what: Any,
    data: Any = None,
    *,
    device: str | torch.device | None = None,
    precision: str = "float32",
    **options: Any,
) -> Run:
    """Trains the network of a problem or of a run in PyTorch, and returns the run.

    Rows, loss, optimiser, rates, stopping rule and checkpoints are those of `landing.train`. All that takes a run
    goes on from it: `generate`, `report`, `export`, `serve`, and training without PyTorch (`run.resume`).

    Under `torchrun` every process simulates and trains its share of each batch; all read the same files.

    Args:
        what: a Problem or the path of a problem file, to train as `landing.train` does; or a Run or the path of a run
            folder, to continue as `Run.resume` does.
        data: as in `train` and `resume`.
        device: such as "cuda", "cuda:1" or "cpu". None: a GPU if there is one.
        precision: of products: "float32"; "tf32" or "bfloat16", which are faster on a GPU.
        options: of `train` or `resume`: settings, budget, max_time, out, runs, workers, progress, …

    Raises:
        UsageError: an argument; a method or a device that PyTorch cannot train here.
        LandingError: as of `train`; or the GPU has no room for a batch.
        Interrupted: of Ctrl-C, with the run in .run.
    """
    from ._engine import fit  # which needs this module

    return fit(what, data, device, precision, options)


class Score(nn.Module):
    """s(x, p, t), the trained score.

    Attributes:
        told: what describes the network (Run.network).
        net: the network F of rows; its parameters are the weights.
    """

    def __init__(self, told: dict[str, Any], net: nn.Module) -> None:
        super().__init__()
        self.told = told
        self.net = net
        self.read = _Reading(told)

    def forward(self, x: Tensor, p: Tensor | None, t: Tensor | float, *, hide_condition: bool = False) -> Tensor:
        """Returns the score, n×d, in the type of the weights.

        Args:
            x: points, n×d, a condition behind them.
            p: momenta, n×d; None of overdamped processes.
            t: times: n, or one for all.
            hide_condition: what the network says without the condition, if it was trained to do without.

        Raises:
            UsageError: an argument of another shape, by its name.
        """
        d = self.told["dim"]
        if x.ndim != 2 or x.shape[1] != d:
            raise UsageError(f"x has shape {tuple(x.shape)}; expected n×{d}", key="x")
        if self.told["momentum"] != (p is not None):
            want = f"the momenta, n×{d}" if self.told["momentum"] else "None: the process has no momentum"
            raise UsageError(f"p is {'None' if p is None else 'given'}; expected {want}", key="p")
        if p is not None and p.shape != x.shape:
            raise UsageError(f"p has shape {tuple(p.shape)}; expected that of x, {tuple(x.shape)}", key="p")
        if hide_condition and not self.told["null"]:
            raise UsageError("the network was not trained to do without its condition (condition.drop)")
        wide = self.read.times.dtype
        times = torch.as_tensor(t, dtype=wide, device=x.device).reshape(-1).expand(len(x))
        out = self.net(self.read, x.to(wide), None if p is None else p.to(wide), times, hide_condition)
        return out * self.read.at(times, self.read.gain).to(out.dtype)[:, None]


class _Reading(nn.Module):
    """How rows are made of points: score.Reading of the sources, in float64."""

    centre: Tensor
    scale: Tensor
    scales: Tensor
    moves: Tensor
    times: Tensor
    gain: Tensor
    b: Tensor
    v: Tensor

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__()
        d = told["dim"]
        mean, scale = told["given_mean"] or [], told["given_scale"] or []
        self.free = d - len(mean)
        self.unit, self.uneven = told["unit"], told["scales"] is not None
        self._table("scales", told["scales"] or [])
        self.octaves, self.time_octaves = told["octaves"], told["time_octaves"]
        self.omega = 2 * math.pi / told["wavelength"]
        self.horizon, self.share, self.null = told["horizon"], told["share"], told["null"]
        centre = list(told["center"] or [])
        centre += [0.0] * (self.free - len(centre))
        self._table("centre", centre + list(mean))
        self._table("scale", [1.0] * self.free + list(scale))
        moves = [1.0] * d
        for j in told["still"] or []:
            moves[j] = 0.0
        self._table("moves", moves)
        self._table("times", told["times"])
        self._table("gain", told["gain"])
        self.begins = told["start"] is not None
        start = told["start"] or []
        self._table("b", [s[0] for s in start])
        self._table("v", [s[1] for s in start])

    def _table(self, name: str, values: list[float]) -> None:
        self.register_buffer(name, torch.tensor(values, dtype=torch.float64), persistent=False)

    def at(self, t: Tensor, values: Tensor) -> Tensor:
        """A function of time at the times t: values at those of the process, linear between, constant beyond."""
        last = len(values) - 1
        u = (t / self.times[0] - 1).clamp(0, last)
        near = u.round()
        u = torch.where((u - near).abs() < 1e-6, near, u)
        low = u.floor().long()
        w = u - low
        return (1 - w) * values[low] + w * values[(low + 1).clamp(max=last)]

    def forward(self, x: Tensor, p: Tensor | None, t: Tensor, hidden: bool | Tensor) -> Tensor:
        """Rows (x, p, t, φ(x), χ(t)) and whether the condition is hidden, of all rows or of each."""
        n, d = x.shape
        c = (x - self.centre) / self.scale  # coordinates; those of a condition as the network reads them
        if self.null and hidden is not False:
            sees = 1 - torch.as_tensor(hidden, dtype=c.dtype, device=c.device).reshape(-1, 1)
            c = torch.cat([c[:, : self.free], c[:, self.free :] * sees], 1)
        free = c[:, : self.free] / self.unit
        if self.uneven:
            free = c[:, : self.free]
            if p is not None:
                free = free - self.at(t, self.b)[:, None] * p[:, : self.free]
            free = free / torch.hypot(self.scales, self.at(t, self.v).sqrt()[:, None])
        parts = [torch.cat([free, c[:, self.free :]], 1)]
        if p is not None:
            parts.append(p)
        parts.append((t / self.horizon if self.share else t)[:, None])
        if self.octaves:
            y = torch.cat([c[:, : self.free], c[:, self.free :] * self.unit], 1)
            size = torch.ones_like(y)
            if self.begins:
                if p is not None:
                    y = y - self.moves * self.at(t, self.b)[:, None] * p
                shrunk = torch.exp(-self.at(t, self.v) * self.omega**2 / 2)[:, None]
                size = torch.where(self.moves > 0, shrunk, size)
            for i in range(self.octaves):  # (2^i)² = 4^i
                angle = 2**i * self.omega * y
                waves = torch.stack([angle.sin(), angle.cos()], -1) * (size ** (4**i))[..., None]
                parts.append(waves.reshape(n, 2 * d))
        for i in range(self.time_octaves):
            angle = math.pi / self.horizon * 2**i * t
            parts.append(torch.stack([angle.sin(), angle.cos()], -1))
        if self.null:
            parts.append((torch.zeros_like(t) + hidden)[:, None])
        return torch.cat(parts, 1)


class _MLP(nn.Module):
    """Linear layers with SiLU between them."""

    def __init__(self, told: dict[str, Any], weights: dict[str, Tensor], constants: dict[str, Tensor]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        while f"layer_{len(layers)}.weight" in weights:
            name = f"layer_{len(layers)}"
            layers.append(_linear(weights[f"{name}.weight"], weights[f"{name}.bias"]))
        if not layers:
            raise DataError("the checkpoint has no layer_0.weight")
        self.layers = nn.ModuleList(layers)

    def pass_rows(self, rows: Tensor) -> Tensor:
        h = rows.to(next(self.parameters()).dtype)
        for i, layer in enumerate(self.layers):
            h = layer(h if i == 0 else F.silu(h))
        return h

    def forward(self, read: _Reading, x: Tensor, p: Tensor | None, t: Tensor, hidden: bool | Tensor) -> Tensor:
        return self.pass_rows(read(x, p, t, hidden))

    def export(self, values: list[Tensor]) -> dict[str, Tensor]:
        """Values of the parameters, in their order, as a checkpoint names and shapes them."""
        return {f"layer_{i // 2}.{'bias' if i % 2 else 'weight'}": v for i, v in enumerate(values)}


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.data, layer.bias.data = weight, bias
    return layer


class _Aligned(_MLP):
    """An MLP of a molecule laid on a reference, whose output is turned back: package learn/score/aligned."""

    STRETCH = 0.2  # Å: unit of distances of pairs
    reference: Tensor
    pairs: Tensor
    torsions: Tensor
    rest: Tensor

    def __init__(self, told: dict[str, Any], weights: dict[str, Tensor], constants: dict[str, Tensor]) -> None:
        super().__init__(told, weights, constants)
        y = constants["reference"].double()
        self.register_buffer("reference", y - y.mean(0), persistent=False)
        atoms, reach = len(y), int(told["options"].get("pairs", 0))
        pairs = [(i, j) for i in range(atoms) for j in range(i + 1, min(atoms, i + reach + 1))]
        self.register_buffer("pairs", torch.tensor(pairs, dtype=torch.long).reshape(-1, 2), persistent=False)
        self.waves = int(told["options"].get("torsions", 0))
        torsions = (told["torsions"] or []) if self.waves else []
        self.register_buffer("torsions", torch.tensor(torsions, dtype=torch.long).reshape(-1, 4), persistent=False)
        rest = (y[self.pairs[:, 0]] - y[self.pairs[:, 1]]).norm(dim=-1)
        self.register_buffer("rest", rest, persistent=False)

    def forward(self, read: _Reading, x: Tensor, p: Tensor | None, t: Tensor, hidden: bool | Tensor) -> Tensor:
        n = len(x)
        at = x.reshape(n, -1, 3)
        at = at - at.mean(1, keepdim=True)
        turn = self._turn(at)  # R of each row
        at = at @ turn.transpose(1, 2)
        q = None if p is None else p.reshape(n, -1, 3) @ turn.transpose(1, 2)
        rows = [read(at.reshape(n, -1), None if q is None else q.reshape(n, -1), t, hidden)]

        apart = at[:, self.pairs[:, 0]] - at[:, self.pairs[:, 1]]
        distance = apart.norm(dim=-1)
        along = torch.where(distance[..., None] > 0, apart / distance.clamp(min=1e-300)[..., None], apart)
        rows.append((distance - self.rest) / self.STRETCH)
        angles, gradients = self._torsions(at)  # n×K, n×K×4×3
        size = gradients.flatten(2).norm(dim=-1)
        known = (size > 0) & torch.isfinite(size)
        rate = torch.zeros_like(size)
        if q is not None:
            rate = (gradients * q[:, self.torsions]).flatten(2).sum(-1)
        told = [self._angular(angles)]
        if q is not None:
            told.append((rate / size)[..., None])
        if read.begins:
            told.append(self._angular(angles - read.at(t, read.b)[:, None] * rate))
        rows.append(torch.where(known[..., None], torch.cat(told, -1), x.new_zeros(())).flatten(1).to(x.dtype))
        swing = torch.where(known[..., None, None], gradients / size[..., None, None], x.new_zeros(())).to(x.dtype)

        out = self.pass_rows(torch.cat(rows, 1))
        kind, d, k = out.dtype, x.shape[1], len(self.pairs)
        z = out[:, :d].reshape(n, -1, 3)
        pull = out[:, d : d + k, None] * along.to(kind)
        z = z.index_add(1, self.pairs[:, 0], pull).index_add(1, self.pairs[:, 1], -pull)
        push = out[:, d + k :, None, None] * swing.to(kind)
        z = z.index_add(1, self.torsions.reshape(-1), push.reshape(n, -1, 3))
        return (z @ turn.to(kind)).reshape(n, d)

    def _turn(self, at: Tensor) -> Tensor:
        """The nearest rotation onto the reference, never a reflection (Kabsch)."""
        u, _, v = torch.linalg.svd(at.transpose(1, 2) @ self.reference)
        sign = torch.det(u @ v)
        flip = torch.ones(len(at), 3, dtype=at.dtype, device=at.device)
        flip = torch.cat([flip[:, :2], sign[:, None]], 1)
        return (u @ (flip[:, :, None] * v)).transpose(1, 2)

    def _angular(self, angles: Tensor) -> Tensor:
        waves = [f((i + 1) * angles) for i in range(self.waves) for f in (torch.sin, torch.cos)]
        return torch.stack(waves, -1) if waves else angles[..., None][..., :0]

    def _torsions(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Torsions and their gradients by the four positions (Blondel and Karplus 1996)."""
        r = at[:, self.torsions]  # n×K×4×3
        f, g, h = r[:, :, 0] - r[:, :, 1], r[:, :, 1] - r[:, :, 2], r[:, :, 3] - r[:, :, 2]
        a, b = torch.cross(f, g, dim=-1), torch.cross(h, g, dim=-1)
        gg = g.norm(dim=-1, keepdim=True)
        fg, hg = (f * g).sum(-1, keepdim=True) / gg, (h * g).sum(-1, keepdim=True) / gg
        u, v = a / (a * a).sum(-1, keepdim=True), b / (b * b).sum(-1, keepdim=True)
        gradients = torch.stack([-gg * u, (gg + fg) * u - hg * v, (hg - gg) * v - fg * u, gg * v], 2)
        sine = (torch.cross(b, a, dim=-1) * g).sum(-1) / gg[..., 0]
        return torch.atan2(sine, (a * b).sum(-1)), gradients


class _Gaussian(_MLP):
    """An MLP plus the score of a Gaussian law: package learn/score/gaussian."""

    mean: Tensor
    variances: Tensor
    axes: Tensor
    course: Tensor

    def __init__(self, told: dict[str, Any], weights: dict[str, Tensor], constants: dict[str, Tensor]) -> None:
        super().__init__(told, weights, constants)
        for name in ("mean", "variances", "axes"):
            self.register_buffer(name, constants[name].double(), persistent=False)
        self.register_buffer("course", torch.tensor(told["ahead"], dtype=torch.float64).T, persistent=False)

    def forward(self, read: _Reading, x: Tensor, p: Tensor | None, t: Tensor, hidden: bool | Tensor) -> Tensor:
        b, v, a, c = (read.at(t, of)[:, None] for of in self.course)
        y = x - self.mean if p is None else x - self.mean - b * p
        along = (y @ self.axes.T) * v / (self.variances + v)
        s = -(along @ self.axes) if p is None else -(along @ self.axes) - (a + b) * p
        out = super().forward(read, x, p, t, hidden)
        return out + (s / (c * read.at(t, read.gain)[:, None])).to(out.dtype)


class _Temporal(nn.Module):
    """A U-Net of convolutions over the steps of a sequence: package learn/score/temporal."""

    def __init__(self, told: dict[str, Any], weights: dict[str, Tensor], constants: dict[str, Tensor]) -> None:
        super().__init__()
        o = told["options"]
        self.dim, self.held, self.momentum = told["dim"], told["held"], told["momentum"]
        self.octaves, self.time_octaves, self.null = told["octaves"], told["time_octaves"], told["null"]
        self.steps = int(o["steps"]) or told["steps"]
        self.width = (self.dim - self.held) // self.steps
        self.levels, self.blocks = int(o["levels"]), int(o["blocks"])
        # out×taps×in becomes out×in×taps; biases lose their first dimension, but for the one by step.
        for name, w in weights.items():
            if name.endswith(".weight"):
                w = w[:, 0] if name.startswith(("time_", "film")) else w.transpose(1, 2).contiguous()
            elif name != "head.bias":
                w = w[0]
            self.register_parameter(name.replace(".", "__"), nn.Parameter(w))

    def export(self, values: list[Tensor]) -> dict[str, Tensor]:
        """Values of the parameters, in their order, as a checkpoint names and shapes them."""
        out = {}
        for name, v in zip(self._parameters, values, strict=True):
            name = name.replace("__", ".")
            if name.endswith(".weight"):
                v = v[:, None] if name.startswith(("time_", "film")) else v.transpose(1, 2)
            elif name != "head.bias":
                v = v[None]
            out[name] = v
        return out

    def _get(self, name: str) -> Tensor | None:
        return self._parameters.get(name.replace(".", "__"))

    def _conv(self, x: Tensor, name: str, **how: Any) -> Tensor:
        w = self._get(name + ".weight")
        assert w is not None
        return F.conv1d(x, w, None if name == "head" else self._get(name + ".bias"), padding=w.shape[2] // 2, **how)

    def _dense(self, x: Tensor, name: str) -> Tensor:
        w = self._get(name + ".weight")
        assert w is not None
        return F.linear(x, w, self._get(name + ".bias"))

    def _block(self, x: Tensor, name: str, film: Tensor) -> tuple[Tensor, Tensor]:
        """y = V x + W₂ ∗ SiLU((1 + s)⊙u + b) + c with u = W₁ ∗ SiLU(x); and what is left of (s, b)."""
        u = self._conv(F.silu(x), name + ".first")
        c = u.shape[1]
        scale, shift, rest = film[:, :c, None], film[:, c : 2 * c, None], film[:, 2 * c :]
        y = self._conv(F.silu(u * (1 + scale) + shift), name + ".second")
        side = self._get(name + ".side.weight")
        return y + (x if side is None else F.conv1d(x, side)), rest

    def forward(self, read: _Reading, x: Tensor, p: Tensor | None, t: Tensor, hidden: bool | Tensor) -> Tensor:
        n, d, moving = len(x), self.dim, self.steps * self.width
        first = self._get("head.weight")
        assert first is not None
        rows = read(x, p, t, hidden).to(first.dtype)
        place = 2 * d if self.momentum else d
        waves = [rows[:, place + 1 + 2 * d * o :][:, : 2 * d] for o in range(self.octaves)]
        told = [rows[:, place : place + 1], rows[:, place + 1 + 2 * d * self.octaves :], rows[:, moving:d]]
        told += [w[:, 2 * moving :] for w in waves]
        steps = [rows[:, :moving].reshape(n, self.steps, -1)]
        if self.momentum:
            steps.append(rows[:, d : d + moving].reshape(n, self.steps, -1))
        steps += [w[:, : 2 * moving].reshape(n, self.steps, -1) for w in waves]

        e = F.silu(self._dense(F.silu(self._dense(torch.cat(told, 1), "time_0")), "time_1"))
        film = self._dense(e, "film")
        bias = self._get("head.bias")
        assert bias is not None
        h = self._conv(torch.cat(steps, 2).transpose(1, 2), "head") + bias.T
        skips = []
        for i in range(self.levels):
            for j in range(self.blocks):
                h, film = self._block(h, f"down_{i}.{j}", film)
            if i < self.levels - 1:
                skips.append(h)
                h = self._conv(h, f"halve_{i}", stride=2)
        for i in reversed(range(self.levels - 1)):
            beside = skips.pop()
            h = torch.cat([h.repeat_interleave(2, 2)[:, :, : beside.shape[2]], beside], 1)
            for j in range(self.blocks):
                h, film = self._block(h, f"up_{i}.{j}", film)
        y = self._conv(F.silu(h), "tail").transpose(1, 2).reshape(n, moving)
        return torch.cat([y, y.new_zeros(n, self.held)], 1)


_KINDS: dict[str, Any] = {"mlp": _MLP, "aligned": _Aligned, "temporal": _Temporal, "gaussian": _Gaussian}
