"""Generative models whose samples stay on a feasible set {x : h(x) = 0, g(x) ≤ 0}.

    import landing, numpy as np

    problem = landing.Problem("torus", set={"kind": "torus", "major": 2.0, "minor": 0.6})
    run = landing.train(problem, points, budget="1m")
    samples = run.generate(10_000)
    run.evaluate()

The work is done by the landing program, one static binary in this package; `landing` runs it on the command
line. landing.torch gives the trained network as a torch.nn.Module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._binary import VERSION as __version__

if TYPE_CHECKING:
    from . import torch as torch
    from ._check import Check, check
    from ._errors import (ArrayError, BinaryError, CheckError, ConstraintError, DataError, DivergedError, Interrupted,
                          LandingError, LandingWarning, ProblemError, UsageError)
    from ._model import Model
    from ._problem import Constraint, Formulas, Observable, Problem, Values
    from ._results import CheckFinding, Finding, Metric, Remedy, Verdict
    from ._run import Evaluation, Figure, Run, train
    from ._sample import Draws, sample

# Where names live: they are imported when they are first used, so that the command `landing`, which needs none of
# them, does not wait for NumPy.
_HOMES = {
    "_check": ["Check", "check"],
    "_errors": ["ArrayError", "BinaryError", "CheckError", "ConstraintError", "DataError", "DivergedError", "Interrupted",
                "LandingError", "LandingWarning", "ProblemError", "UsageError"],
    "_problem": ["Constraint", "Formulas", "Observable", "Problem", "Values"],
    "_model": ["Model"],
    "_results": ["CheckFinding", "Finding", "Metric", "Remedy", "Verdict"],
    "_run": ["Evaluation", "Figure", "Run", "train"],
    "_sample": ["Draws", "sample"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "torch":
        return importlib.import_module(".torch", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "torch"]


__all__ = [
    "ArrayError", "BinaryError", "Check", "CheckError", "CheckFinding", "Constraint", "ConstraintError", "DataError",
    "DivergedError", "Draws", "Evaluation", "Figure", "Finding", "Formulas", "Interrupted", "LandingError",
    "LandingWarning", "Metric", "Model", "Observable", "Problem", "ProblemError", "Remedy", "Run", "UsageError", "Values",
    "Verdict", "__version__", "check", "sample", "train",
]
