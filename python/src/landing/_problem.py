"""What to learn, on which set: a problem file, or the same as Python objects."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ._errors import ConstraintError, ProblemError, called
from ._process import call

__all__ = ["Constraint", "Formulas", "Observable", "Problem"]


@dataclasses.dataclass(frozen=True)
class Constraint:
    """A constraint of a set of formulas, such as Constraint("c[j]^2 + s[j]^2 = 1", "unit[j]", for_="j in 0..6").

    Attributes:
        expr: left = right, left <= right or left >= right in the formula language, which has exact derivatives.
        name: in messages and figures; None: the formula.
        for_: a family: one constraint for each value of an index.
    """

    expr: str
    name: str | None = None
    for_: str | None = None


@dataclasses.dataclass(frozen=True)
class Observable:
    """A number of a point by which samples are compared with data.

    Attributes:
        name, expr, for_: as of a Constraint; expr is a formula without a relation.
        let: names for formulas of its own.
        unit: for labels.
        range: of the histogram; else that of the data.
        bins: of the histogram.
        circular: the range is one period, [-π, π) unless given.
    """

    name: str
    expr: str
    for_: str | None = None
    let: Mapping[str, str] | None = None
    unit: str | None = None
    range: tuple[float, float] | None = None
    bins: int | None = None
    circular: bool | None = None


@dataclasses.dataclass(frozen=True)
class Formulas:
    """A set that is written down: {x in R^dim: equalities hold, inequalities hold}.

    Attributes:
        dim: coordinates x[0] … x[dim-1].
        equality, inequality: formulas as strings, or Constraints.
        let: names for formulas, lists, and files of numbers ({"file": "b.npy"}), in order; a later one may use those
            before it.
        names: of the coordinates, for formulas, figures and files of samples.
        urdf: file of a robot, for fk(link) and fk_rotation(link).
    """

    dim: int
    equality: Sequence[str | Constraint | Mapping[str, Any]] = ()
    inequality: Sequence[str | Constraint | Mapping[str, Any]] = ()
    let: Mapping[str, Any] | None = None
    names: Sequence[str] | None = None
    urdf: str | None = None


class Problem:
    """What to learn: a feasible set, observables, and perhaps how to learn it.

    Keys are those of problem files (docs/problem-file.md), as dicts, lists, or dataclasses:

        Problem("torus", set={"kind": "torus", "major": 2, "minor": 0.6})
        Problem("circle", set=Formulas(2, equality=["norm(x) = 1"]), train={"epochs": 300})

    Paths in it are relative to the working directory of Python when it is made.

    Args:
        name: of the run folder.
        set: the feasible set: a dict with its kind and keys, or Formulas.
        observe: numbers by which samples are compared with data.
        keys: the other sections: data, process, network, train, prior, generate, sample, potential,
            condition, seed, title, …

    Raises:
        ConstraintError: something cannot be written down, such as a Python function.

    What the binary does not know or refuses is told when the problem is used: check(problem) is quick.
    """

    def __init__(
        self,
        name: str,
        *,
        set: Formulas | Mapping[str, Any],
        observe: Sequence[Observable | Mapping[str, Any]] = (),
        **keys: Any,
    ) -> None:
        given: dict[str, Any] = {"name": name, "set": set, **keys}
        if observe:
            given["observe"] = observe
        here = Path.cwd()
        self._tree: dict[str, Any] | None = {k: _absolute(k, _plain(v, k), here) for k, v in given.items()}
        self._source: str | None = None
        self._variant: str | None = None
        self._settings: dict[str, Any] = {}

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Problem:
        """Returns the problem that a dict holds, laid out as a problem file is."""
        if not isinstance(tree, Mapping):
            raise ProblemError(f"a problem is a dict laid out as a problem file, not {tree!r:.60}")
        keys = dict(tree)
        for key in ("name", "set"):
            if key not in keys:
                raise ProblemError(f"the problem has no {key!r}", key=key)
        return cls(keys.pop("name"), **keys)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str], *, variant: str | None = None) -> Problem:
        """Returns the problem of a file. Errors will name the lines of that file.

        Args:
            path: the file.
            variant: variants of it to apply, in order, such as "olla,paper".
        """
        path = Path(path)
        if not path.is_file():
            raise ProblemError(f"{path}: there is no such problem file; Problem.recipe(NAME) takes one that ships "
                               "with landing", file=str(path))
        return cls._named(str(path.absolute()), variant)

    @classmethod
    def recipe(cls, name: str, *, variant: str | None = None) -> Problem:
        """Returns a problem that ships in the binary, such as "volcano" (`landing recipes` lists them)."""
        listed, _ = call(["recipes"], [])
        names = [r["name"] for r in (listed["recipes"] if isinstance(listed, dict) else listed)]
        if name not in names:
            raise ProblemError(f"there is no recipe {name!r}; expected one of {', '.join(names)}")
        return cls._named(name, variant)

    @classmethod
    def _named(cls, source: str, variant: str | None) -> Problem:
        self = cls.__new__(cls)
        self._tree, self._source, self._variant, self._settings = None, source, variant, {}
        return self

    def with_settings(self, settings: Mapping[str, Any]) -> Problem:
        """Returns the same problem with some keys replaced, as {"train.epochs": 500}."""
        other = object.__new__(Problem)
        other.__dict__.update(self.__dict__)
        other._settings = {**self._settings, **{k: _plain(v, k) for k, v in settings.items()}}
        return other

    @property
    def name(self) -> str:
        """The problem's name: the file's or the recipe's, if it comes from there."""
        return str(self._tree["name"]) if self._tree is not None else Path(self._source or "").stem

    def _text(self) -> str:
        """The problem as far as Python knows it: of a recipe, a word on the data."""
        if self._tree is not None:
            return json.dumps(self._tree)
        try:
            return Path(self._source or "").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return "kind: earth"  # recipes read frames of no other names

    def __repr__(self) -> str:
        changed = f", {len(self._settings)} settings" if self._settings else ""
        return f"Problem({self._source or self.name!r}{changed})"

    @contextmanager
    def _written(self) -> Iterator[tuple[str, list[str]]]:
        """Gives what the binary takes for the problem, and options, while it is in use.

        Of a fault in a problem of Python objects key and message are kept; the file that it was
        written to for the binary is nobody's business.
        """
        options = settings_options(self._settings)
        if self._variant:
            options.append(f"--variant={self._variant}")
        if self._tree is None:
            yield self._source or "", options
            return
        with TemporaryDirectory(prefix="landing-") as folder:
            path = Path(folder) / "problem.yaml"
            # JSON is YAML; a problem file is UTF-8.
            path.write_text(json.dumps(self._tree, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")
            with called(path, ""):
                yield str(path), options


def settings_options(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns --set options of {"key": value}."""
    options = []
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not key or "=" in key:
            raise ProblemError(f"{key!r} is no key of a problem; expected one such as 'train.epochs'", key=str(key))
        options.append(f"--set={key}={json.dumps(_plain(value, key), ensure_ascii=False, allow_nan=False)}")
    return options


_FORMULA = (
    "Constraints and observables are formulas, as strings such as 'x[0]^2 + x[1]^2 = 1': landing compiles them with "
    "exact first and second derivatives, and runs without Python. Write this one in the formula language "
    "(docs/formulas.md), take a ready-made set such as {'kind': 'sphere', 'dim': 3}, or write a "
    "set in Go (docs/adding.md#a-set)"
)


def _plain(value: Any, at: str) -> Any:
    """Returns a value as JSON has it; at is its key.

    Raises:
        ConstraintError: it is a function, or nothing that a problem file can hold.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((f.name.rstrip("_"), getattr(value, f.name)) for f in dataclasses.fields(value))
        return {k: _plain(v, f"{at}.{k}") for k, v in fields if v is not None and not _silent(v)}
    if isinstance(value, Mapping):
        for k in value:
            if not isinstance(k, str):
                raise ConstraintError(f"{at} has the key {k!r}; expected text", key=at)
        return {k.rstrip("_") if k == "for_" else k: _plain(v, f"{at}.{k}") for k, v in value.items()}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ConstraintError(f"{at} is {value}; expected a finite number", key=at)
        return float(value)
    if isinstance(value, os.PathLike):
        return str(Path(os.fspath(value)).absolute())
    if isinstance(value, np.ndarray):
        return _plain(value.tolist(), at)
    if isinstance(value, (list, tuple)):
        one = at.rsplit(".", 1)[-1]
        out = []
        for i, v in enumerate(value):
            v = _plain({"expr": v} if isinstance(v, str) and one in _CONSTRAINTS else v, f"{at}[{i}]")
            if one in _CONSTRAINTS and isinstance(v, dict) and "name" not in v and "expr" in v:
                v = {"name": v["expr"], **v}  # what a constraint without a name is called
            out.append(v)
        return out
    if callable(value):
        called = getattr(value, "__qualname__", None) or repr(value)
        raise ConstraintError(f"{at} is a Python function, {called}. {_FORMULA}.", key=at)
    raise ConstraintError(
        f"{at} is {value!r:.60} of type {type(value).__name__}; expected text, a number, a list or a dict. {_FORMULA}.",
        key=at,
    )


_CONSTRAINTS = ("equality", "inequality")


def _silent(value: Any) -> bool:
    """Tells whether a field of a dataclass says nothing: an empty list of constraints."""
    return isinstance(value, (tuple, list)) and not value


# Keys whose values are files, below any set for those of sets.
_FILES = {"data.path", "data.train", "data.reference", "data.prmtop", "condition.path", "network.reference",
          "potential.prmtop", "potential.coordinates"}
_SET_FILES = {"weights", "mesh", "template", "urdf"}


def _absolute(at: str, value: Any, folder: Path) -> Any:
    """Makes paths absolute: the file that the binary reads lies elsewhere."""
    if isinstance(value, dict):
        return {k: _absolute(f"{at}.{k}", v, folder) for k, v in value.items()}
    if isinstance(value, list):
        return [_absolute(at, v, folder) for v in value]
    last = at.rsplit(".", 1)[-1]
    in_set = at.startswith("set.") and (last in _SET_FILES or re.search(r"\.let\.[^.]+\.file$", at))
    if isinstance(value, str) and value and (at in _FILES or in_set):
        return str(folder / value)
    return value
