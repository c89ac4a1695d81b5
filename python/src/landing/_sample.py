"""Sampling exp(-f) on a set by Markov chains, without learning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import _arrays
from ._arrays import Array
from ._errors import CheckError, UsageError
from ._problem import Problem, settings_options
from ._process import call
from ._progress import Bar
from ._run import Settings, _problem, _whole

__all__ = ["Draws", "sample"]


class Draws:
    """Draws of chains.

    Attributes:
        x: float64, chains × draws × dimension.
        violation: chains × draws: the largest |h| and max(g, 0) of each draw.
        names: of the coordinates, if the problem has any.
        summary: what `landing mcmc --json` tells: effective sample sizes and split-R̂ of every coordinate and
            observable, violations, the step.
    """

    def __init__(
        self, x: Array, summary: dict[str, Any], violation: Array | None = None, names: Sequence[str] | None = None
    ) -> None:
        self.x, self.summary, self.violation, self.names = x, summary, violation, names

    def __repr__(self) -> str:
        s = self.summary
        return f"Draws({s['chains']} chains of {s['draws']} draws in R^{self.x.shape[-1]})"

    def to_arviz(self) -> Any:
        """Returns them as ArviZ has draws of a posterior: the DataTree of ArviZ 1, or the InferenceData of earlier versions.

        sample_stats has the violation of each draw; attributes of the posterior are the sampler's step and its failures.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of its own plans
            import arviz

        groups: dict[str, Any] = {"posterior": {"x": self.x}}
        if self.violation is not None:
            groups["sample_stats"] = {"violation": self.violation}
        names = list(self.names) if self.names and len(self.names) == self.x.shape[-1] else list(range(self.x.shape[-1]))
        how = {"dims": {"x": ["coordinate"]}, "coords": {"coordinate": names}}
        make: Any = arviz.from_dict
        made = make(groups, **how) if int(str(arviz.__version__).split(".")[0]) >= 1 else make(**groups, **how)
        kept = ("step", "failed", "failed_share", "turned", "refused", "seconds")
        made["posterior"].attrs.update({k: self.summary[k] for k in kept if k in self.summary})
        return made


def sample(
    problem: Problem | str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    kind: str = "auto",
    progress: bool | None = None,
    workers: int = 0,
) -> Any:
    """Draws from exp(-f) on the problem's set by Markov chains.

    Args:
        problem: a Problem with a potential (without one the law is uniform), or the path of a problem file.
        settings: keys to replace, such as {"sample.chains": 4, "sample.draws": 2000}.
        kind: "arviz": as ArviZ has draws; "arrays": Draws; "auto": as ArviZ if it is installed.
        progress: show a bar. None: in terminals and notebooks.
        workers: threads; 0: one a core.

    Raises:
        CheckError: the chains have not mixed, or too much failed; .result holds the Draws.
    """
    if kind not in ("auto", "arviz", "arrays"):
        raise UsageError(f"kind is {kind!r}; expected 'auto', 'arviz' or 'arrays'", key="kind")
    options = [f"--workers={_whole(workers, 'workers')}", *settings_options(settings)]
    with TemporaryDirectory(prefix="landing-") as folder, Bar("sampling", "step", progress) as bar:
        out = Path(folder) / "draws.npy"
        with _problem(problem)._written() as (source, more):
            try:
                told, _ = call(["mcmc"], [*options, *more, f"--output={out}"], [source], on_event=bar)
            except CheckError as e:
                if out.exists() and isinstance(e.result, dict):
                    e.result = _draws(_problem(problem), out, e.result)
                raise
        draws = _draws(_problem(problem), out, told)
    if kind == "arrays":
        return draws
    try:
        return draws.to_arviz()
    except ImportError:
        if kind == "arviz":
            raise
        return draws


def _draws(problem: Problem, file: Path, told: dict[str, Any]) -> Draws:
    x = _arrays.read(file)
    violation = problem.values(x.reshape(-1, x.shape[-1])).violation.reshape(x.shape[:2])
    tree = problem._tree or {}
    return Draws(x, told, violation, (tree.get("set") or {}).get("names"))
