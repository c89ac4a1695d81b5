"""What to learn, on which set: a problem file, or the same as Python objects."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from . import _arrays
from ._arrays import Array
from ._errors import ConstraintError, ProblemError, called
from ._functions import traced, traced_given
from ._process import call

__all__ = ["Constraint", "Formulas", "Observable", "Problem", "Values"]

Function = Callable[..., Any]
"""A function of one point, an array of dim numbers, or of coordinates by their names; it returns a number or an array."""


@dataclasses.dataclass(frozen=True)
class Constraint:
    """A constraint of a set of formulas, such as Constraint("c[j]^2 + s[j]^2 = 1", "unit[j]", for_="j in 0..6").

    Attributes:
        expr: left = right, left <= right or left >= right in the formula language, which has exact derivatives; or a
            Python function h(x) or g(x) of NumPy arrays, which is traced into that language.
        name: in messages and figures; None: the formula, or the function's name.
        for_: a family: one constraint for each value of an index.
    """

    expr: str | Function
    name: str | None = None
    for_: str | None = None


@dataclasses.dataclass(frozen=True)
class Observable:
    """A number of a point by which samples are compared with data.

    Attributes:
        name, expr, for_: as of a Constraint; expr is a formula without a relation, or a function.
        let: names for formulas of its own.
        unit: for labels.
        range: of the histogram; else that of the data.
        bins: of the histogram.
        circular: the range is one period, [-π, π) unless given.
    """

    name: str
    expr: str | Function
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
        dim: coordinates x[0] … x[dim-1]; None: as many as names, or as the arguments of functions.
        equality, inequality: formulas as strings, Python functions of x, or Constraints.
        let: names for formulas, lists, and files of numbers ({"file": "b.npy"}), in order; a later one may use those
            before it.
        names: of the coordinates, for formulas, figures and files of samples.
        urdf: file of a robot, for fk(link) and fk_rotation(link).
    """

    dim: int | None = None
    equality: Sequence[str | Constraint | Mapping[str, Any] | Function] = ()
    inequality: Sequence[str | Constraint | Mapping[str, Any] | Function] = ()
    let: Mapping[str, Any] | None = None
    names: Sequence[str] | None = None
    urdf: str | None = None


@dataclasses.dataclass(frozen=True)
class Values:
    """Values of constraints at n points.

    Attributes:
        equalities, inequalities: names of the components.
        h: n×m, 0 on the set. g: n×l, at most 0 on the set.
    """

    equalities: list[str]
    inequalities: list[str]
    h: Array
    g: Array

    @property
    def violation(self) -> Array:
        """The largest |h| and max(g, 0) of each point."""
        all_of: Array = np.hstack([np.abs(self.h), np.maximum(self.g, 0), np.zeros((len(self.h), 1))])
        return np.asarray(all_of.max(axis=1))


def _file(tree: Mapping[str, Any]) -> str:
    """Returns a problem file: JSON is YAML."""
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _unwrapped(tree: dict[str, Any], alone: bool) -> dict[str, Any]:
    """Joins two sets of formulas into one, so that the second knows the names of the first."""
    if alone or not isinstance(tree["all"][0], dict) or not {"dim", "names"} & set(tree["all"][0]) or "kind" in tree["all"][0]:
        return tree
    first, second = tree["all"]
    lists = {k: [*(first.get(k) or []), *(second.get(k) or [])] for k in _CONSTRAINTS}
    return {**second, **first, **{k: v for k, v in lists.items() if v}}


class Problem:
    """What to learn: a feasible set, observables, and perhaps how to learn it.

    Keys are those of problem files (docs/problem-file.md), as dicts, lists, or dataclasses:

        Problem("torus", set={"kind": "torus", "major": 2, "minor": 0.6})
        Problem("circle", set=Formulas(2, equality=["norm(x) = 1"]), train={"epochs": 300})
        Problem("ball", dim=3, equality=[lambda x: x @ x - 1], inequality=[lambda x: -x[2]])

    A Python function of NumPy arrays is called once with abstract arrays; what it computes is kept as formulas. So
    the problem is an ordinary problem file: it can be saved, read, compared and pickled.

    Paths in it are relative to the working directory of Python when it is made.

    Args:
        name: of the run folder.
        set: the feasible set: a dict with its kind and keys, or Formulas.
        equality, inequality: h(x) = 0 and g(x) <= 0: functions, formulas or Constraints. Beside `set`, points satisfy both.
        dim: coordinates of a point, for functions of x.
        names: of the coordinates. A DataFrame's columns are matched by them, and a function's arguments may be names.
        observe: numbers by which samples are compared with data.
        keys: the other sections: data, process, network, train, prior, generate, sample, potential,
            condition, seed, title, …

    Raises:
        ConstraintError: something cannot be written down, such as a function that branches on values: its line.

    What the binary does not know or refuses is told when the problem is used: check(problem) is quick.
    """

    def __init__(
        self,
        name: str = "run",
        *,
        set: Formulas | Mapping[str, Any] | None = None,
        equality: Sequence[str | Constraint | Mapping[str, Any] | Function] = (),
        inequality: Sequence[str | Constraint | Mapping[str, Any] | Function] = (),
        dim: int | None = None,
        names: Sequence[str] | None = None,
        observe: Sequence[Observable | Mapping[str, Any]] = (),
        **keys: Any,
    ) -> None:
        if not isinstance(name, str):
            raise ProblemError(f"name is {name!r:.60}; expected text", key="name")
        if set is None and not equality and not inequality:
            raise ProblemError("the problem has no constraints: give equality=[f], inequality=[g], or set={…}", key="set")
        given: dict[str, Any] = {"name": name, "set": set, **keys}
        if equality or inequality:
            written = Formulas(dim, equality, inequality, names=names)
            given["set"] = written if set is None else {"all": [set, written]}
        if observe:
            given["observe"] = observe
        here = Path.cwd()
        tree = {k: _absolute(k, _plain(v, k), here) for k, v in given.items()}
        if equality or inequality:
            tree["set"] = _unwrapped(tree["set"], set is None)
        self._tree: dict[str, Any] | None = traced(tree, dim)
        self._source: str | None = None
        self._variant: str | None = None
        self._settings: dict[str, Any] = {}

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Problem:
        """Returns the problem that a dict holds, laid out as a problem file is. Raises ProblemError, as Problem does."""
        if not isinstance(tree, Mapping):
            raise ProblemError(f"a problem is a dict laid out as a problem file, not {tree!r:.60}")
        keys = dict(tree)
        for key in ("name", "set"):
            if key not in keys:
                raise ProblemError(f"the problem has no {key!r}", key=key)
        return cls(keys.pop("name"), **keys)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the problem file, which from_yaml and the program read. Paths in it are absolute. Raises ProblemError as to_dict."""
        tree = self.to_dict()
        for key, value in self._settings.items():
            part, (*above, last) = tree, key.split(".")
            for name in above:
                part = part.setdefault(name, {})
            part[last] = value
        Path(path).write_text(_file(tree), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Returns the problem laid out as a problem file: what from_dict takes. Raises ProblemError: it came from a file."""
        if self._tree is None:
            raise ProblemError(f"the problem is in {self._source}")
        return dict(json.loads(json.dumps(self._tree)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(json.dumps(self.__dict__, sort_keys=True))

    def values(self, points: Any) -> Values:
        """Evaluates the constraints at points, n×d, or at a frame with the problem's names.

        Raises:
            ArrayError, DataError: points that cannot be used. ProblemError: a fault in the problem.
        """
        with self._written() as (source, more), TemporaryDirectory(prefix="landing-") as folder:
            rows, out = Path(folder) / "points.npy", Path(folder) / "values.npy"
            _arrays.write(rows, _arrays.numbers(_arrays.ordered(points, self._text(), "points"), "points"))
            with called(rows, "points"):
                told, _ = call(["dev", "values"], [*more, f"--data={rows}", f"--output={out}"], [source])
            all_ = _arrays.read(out)
        m = len(told["equalities"])
        return Values(told["equalities"], told["inequalities"], all_[:, :m], all_[:, m:])

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str], *, variant: str | None = None) -> Problem:
        """Returns the problem of a file. Errors will name the lines of that file.

        Args:
            path: the file.
            variant: variants of it to apply, in order, such as "olla,paper".

        Raises:
            ProblemError: there is no such file. What is wrong in it is told when the problem is used.
        """
        path = Path(path)
        if not path.is_file():
            raise ProblemError(f"{path}: there is no such problem file; Problem.recipe(NAME) takes one that ships "
                               "with landing", file=str(path))
        return cls._named(str(path.absolute()), variant)

    @classmethod
    def recipe(cls, name: str, *, variant: str | None = None) -> Problem:
        """Returns a problem that ships in the binary, such as "volcano". Raises ProblemError, which lists the names."""
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
            path.write_text(_file(self._tree), encoding="utf-8")
            with called(path, ""):
                yield str(path), options


def given_file(given: Mapping[str, Any], problem: str, dim: int, condition: Sequence[str]) -> str:
    """Returns constraints that are added at generation as a file: functions are traced."""
    return _file(traced_given(_plain(given, "given"), problem, dim, condition))


def settings_options(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns --set options of {"key": value}."""
    options = []
    for key, value in (settings or {}).items():
        if not isinstance(key, str) or not key or "=" in key:
            raise ProblemError(f"{key!r} is no key of a problem; expected one such as 'train.epochs'", key=str(key))
        options.append(f"--set={key}={json.dumps(_plain(value, key), ensure_ascii=False, allow_nan=False)}")
    return options


_FORMULA = (
    "Functions may stand in the lists equality and inequality, and as expr of observe and potential; elsewhere write text, "
    "numbers, lists and dicts, as in a problem file (docs/problem-file.md)"
)
_FUNCTIONS = re.compile(r"(set|given)\b.*\.(in)?equality\[\d+\](\.expr)?|((given\.)?observe\[\d+\]|potential)\.expr")


def _plain(value: Any, at: str) -> Any:
    """Returns a value as JSON has it; at is its key.

    Raises:
        ConstraintError: it is a function, or nothing that a problem file can hold.
    """
    if callable(value) and _FUNCTIONS.fullmatch(at):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((f.name.rstrip("_"), getattr(value, f.name)) for f in dataclasses.fields(value))
        return {k: _plain(v, f"{at}.{k}") for k, v in fields if v is not None and v != () and v != []}
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
            alone = one in _CONSTRAINTS and (isinstance(v, str) or callable(v))
            v = _plain({"expr": v} if alone else v, f"{at}[{i}]")
            if one in _CONSTRAINTS and isinstance(v, dict) and "name" not in v and isinstance(v.get("expr"), str):
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
