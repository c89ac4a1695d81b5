"""Runs that tests share. The binary is that of the installed wheel, of LANDING_BINARY, or built from the sources."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import landing
from landing import _binary

SOURCES = Path(__file__).resolve().parents[2]
TINY = {"train.epochs": 3, "train.times_per_path": 2, "network.width": 8, "network.layers": 1}


@pytest.fixture(scope="session", autouse=True)
def program(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "LANDING_BINARY" in os.environ or _binary._PACKAGED.exists():
        return
    path = tmp_path_factory.mktemp("bin") / _binary._PACKAGED.name
    subprocess.run(["go", "build", "-o", str(path), "./cmd/landing"], cwd=SOURCES, check=True,
                   env={**os.environ, "CGO_ENABLED": "0"})
    os.environ["LANDING_BINARY"] = str(path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in a folder of its own, whose name has a space and letters beyond ASCII."""
    folder = tmp_path / "a folder, größer"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def points() -> np.ndarray:
    """A stripe on a torus, 300×3."""
    draw = np.random.default_rng(1)
    around, tube = 0.4 * draw.uniform(-np.pi, np.pi, 300), draw.uniform(-np.pi, np.pi, 300)
    ring = 2 + 0.6 * np.cos(tube)
    return np.stack([ring * np.cos(around), ring * np.sin(around), 0.6 * np.sin(tube)], 1)


@pytest.fixture(scope="session")
def torus() -> landing.Problem:
    return landing.Problem("torus", set={"kind": "torus", "major": 2.0, "minor": 0.6}, defaults="fixed", prior="empirical",
                           process={"steps": 20},
                           observe=[landing.Observable("around", "atan2(x[1], x[0])", circular=True)])


@pytest.fixture(scope="session")
def run(torus: landing.Problem, points: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> landing.Run:
    """A trained run: not a good one."""
    return landing.train(torus, points, runs=tmp_path_factory.mktemp("runs"), settings=TINY)


class Frame:
    """Columns with names: what pandas and polars have in common."""

    def __init__(self, columns: dict) -> None:
        self.of = {name: np.asarray(values) for name, values in columns.items()}
        self.columns = list(self.of)

    def __len__(self) -> int:
        return len(next(iter(self.of.values())))

    def __getitem__(self, name):
        return Frame({n: self.of[n] for n in name}) if isinstance(name, list) else self.of[name]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.stack(list(self.of.values()), 1)


def off(x: np.ndarray) -> float:
    """How far points are from the torus."""
    return float(np.abs(np.hypot(np.hypot(x[:, 0], x[:, 1]) - 2, x[:, 2]) - 0.6).max())
