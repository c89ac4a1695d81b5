"""Writes what PyTorch's layers make of package learn/score/temporal's network.

    pip install torch numpy
    python tools/bench/rivals/torch_temporal.py learn/score/temporal/testdata

writes CASE.npz for each case below, in float64: weights by their names in checkpoints,
rows x, p, t, held coordinates behind x, outputs, and the gradient by each weight of
sum(cos(i + 1) output[i]). The test TestTorch of that package holds our passes against them.
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

# steps, width, held, momentum, octaves, time octaves, channels, levels, reach, blocks, embedding
CASES = {
    "plain": (8, 2, 0, False, 0, 0, 3, 2, 1, 1, 4),
    "all": (5, 3, 2, True, 2, 2, 2, 3, 2, 1, 5),
}
WAVELENGTH, HORIZON, ROWS = 2.0, 0.5, 3


class Block(nn.Module):
    def __init__(self, inputs, outputs, taps):
        super().__init__()
        self.first = nn.Conv1d(inputs, outputs, taps, padding="same", bias=False)
        self.second = nn.Conv1d(outputs, outputs, taps, padding="same")
        self.side = nn.Conv1d(inputs, outputs, 1, bias=False) if inputs != outputs else None

    def forward(self, x, scale, shift):
        u = self.first(F.silu(x))
        y = self.second(F.silu(u * (1 + scale[:, :, None]) + shift[:, :, None]))
        return y + (x if self.side is None else self.side(x))


class Temporal(nn.Module):
    def __init__(self, steps, width, held, momentum, octaves, time_octaves, channels, levels, reach, blocks, embedding):
        super().__init__()
        self.steps, self.width, self.held, self.blocks = steps, width, held, blocks
        self.octaves, self.time_octaves = octaves, time_octaves
        n, taps = [channels << i for i in range(levels)], 2 * reach + 1
        self.head = nn.Conv1d(width * (1 + momentum + 2 * octaves), n[0], taps, padding="same", bias=False)
        self.head_bias = nn.Parameter(torch.randn(steps, n[0]) / 3)
        self.time_0 = nn.Linear(1 + 2 * time_octaves + held * (1 + 2 * octaves), embedding)
        self.time_1 = nn.Linear(embedding, embedding)
        self.down = nn.ModuleList(nn.ModuleList(Block(c, c, taps) for _ in range(blocks)) for c in n)
        self.halve = nn.ModuleList(nn.Conv1d(n[i], n[i + 1], 3, stride=2, padding=1) for i in range(levels - 1))
        self.up = nn.ModuleList(
            nn.ModuleList(Block(n[i] + n[i + 1] if j == 0 else n[i], n[i], taps) for j in range(blocks))
            for i in range(levels - 1))
        self.tail = nn.Conv1d(n[0], width, 1)
        # Scales and shifts of the blocks in the order in which they come.
        self.sizes = [c for c in n for _ in range(blocks)] + [c for c in n[-2::-1] for _ in range(blocks)]
        self.film = nn.Linear(embedding, 2 * sum(self.sizes))

    def forward(self, x, p, t):
        rows, moving = len(x), self.steps * self.width
        waves = []
        for i in range(self.octaves):
            angle = 2 * math.pi * 2**i / WAVELENGTH * x
            waves.append(torch.stack([angle.sin(), angle.cos()], -1))  # rows × coordinates × 2
        steps = [x[:, :moving].reshape(rows, self.steps, -1)]
        if p is not None:
            steps.append(p[:, :moving].reshape(rows, self.steps, -1))
        steps += [w[:, :moving].reshape(rows, self.steps, -1) for w in waves]
        told = [t[:, None]]
        for i in range(self.time_octaves):
            angle = math.pi * 2**i / HORIZON * t
            told += [angle.sin()[:, None], angle.cos()[:, None]]
        told += [x[:, moving:]] + [w[:, moving:].reshape(rows, -1) for w in waves]

        e = F.silu(self.time_1(F.silu(self.time_0(torch.cat(told, 1)))))
        film = iter(self.film(e).split([s for c in self.sizes for s in (c, c)], 1))
        h = self.head(torch.cat(steps, 2).transpose(1, 2)) + self.head_bias.T
        skips = []
        for i, blocks in enumerate(self.down):
            for block in blocks:
                h = block(h, next(film), next(film))
            if i < len(self.halve):
                skips.append(h)
                h = self.halve[i](h)
        for i in reversed(range(len(self.up))):
            beside = skips.pop()
            h = torch.cat([h.repeat_interleave(2, 2)[:, :, :beside.shape[2]], beside], 1)
            for block in self.up[i]:
                h = block(h, next(film), next(film))
        y = self.tail(F.silu(h)).transpose(1, 2).reshape(rows, moving)
        return torch.cat([y, torch.zeros(rows, self.held)], 1)


def ours(name, value):
    """The name and layout of a weight in our checkpoints: out × taps × in, biases by step."""
    if name == "head_bias":
        return "head.bias", value
    parts = name.split(".")
    if parts[0] in ("down", "up"):
        name = f"{parts[0]}_{parts[1]}.{parts[2]}.{'.'.join(parts[3:])}"
    elif parts[0] == "halve":
        name = f"halve_{parts[1]}.{parts[2]}"
    if name.endswith("bias"):
        return name, value[None]
    return name, value[:, None] if value.ndim == 2 else value.transpose(0, 2, 1)


def main(folder):
    torch.set_default_dtype(torch.float64)
    for case, sizes in CASES.items():
        torch.manual_seed(1)
        net = Temporal(*sizes)
        d, momentum = sizes[0] * sizes[1] + sizes[2], sizes[3]
        x, p, t = torch.randn(ROWS, d), torch.randn(ROWS, d) if momentum else None, torch.rand(ROWS) * HORIZON
        y = net(x, p, t)
        loss = (torch.cos(torch.arange(y.numel()) + 1.0) * y.reshape(-1)).sum()
        loss.backward()
        arrays = {"x": x.numpy(), "t": t.numpy(), "y": y.detach().numpy()}
        if momentum:
            arrays["p"] = p.numpy()
        for name, w in net.named_parameters():
            key, value = ours(name, w.detach().numpy())
            arrays[key] = np.ascontiguousarray(value)
            arrays["grad." + key] = np.ascontiguousarray(ours(name, w.grad.numpy())[1])
        np.savez_compressed(f"{folder}/{case}.npz", **arrays)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
