"""Python functions of NumPy arrays as formulas.

A function is called with an abstract array: its elements are formulas of the coordinates, not numbers. What the
function computes from them is written in the formula language (docs/formulas.md).
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import io
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import ConstraintError
from ._graph import ENTRIES, HERE, LIBRARY, NUMPY, Graph, Node, holds
from ._symbol import FUNCTIONS, GENERAL, MATMUL, SEVERAL, UFUNCS, Symbol

__all__ = ["trace"]

# While a function is traced, these make abstract arrays too: NumPy does not ask its argument about them.
_REAL = {name: getattr(np, name) for name in
         ("array", "asarray", "asanyarray", "ascontiguousarray", "zeros", "ones", "empty", "full", "eye", "identity")}
_MATH = {"sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "expm1": "expm1",
         "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
         "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
         "hypot": "linalg.norm", "pow": "power", "fabs": "abs", "radians": "radians", "degrees": "degrees"}
_FILES = [(builtins.__dict__, "open"), (io.__dict__, "open"),
          *((np.__dict__, name) for name in ("load", "loadtxt", "genfromtxt", "fromfile"))]
_LOCK = threading.RLock()


def _made(g: Graph, name: str, thread: int) -> Callable[..., Any]:
    """Returns what stands for np.array and the like while a function is traced by a thread."""
    real = _REAL[name]

    @functools.wraps(real)
    def make(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread:
            return real(*args, **kwargs)
        given = args[0] if args else kwargs.get("object", kwargs.get("a"))
        if name.startswith(("array", "as")) and holds(given):
            g.locate()
            made = g.objects(given)
            return given if name != "array" and isinstance(given, Symbol) else Symbol(g, made.copy())
        if name == "full" and (len(args) > 1 and holds(args[1]) or holds(kwargs.get("fill_value"))):
            fill = args[1] if len(args) > 1 else kwargs["fill_value"]
            return Symbol(g, np.broadcast_to(g.objects(fill), np.shape(real(given or 0, 0.0))).copy())
        made = real(*args, **kwargs)
        user = not sys._getframe(1).f_code.co_filename.startswith((NUMPY, HERE, *LIBRARY))
        if user and isinstance(made, np.ndarray) and made.dtype.kind == "f" and name not in ("asarray", "asanyarray"):
            if name == "empty":
                made[...] = 0.0
            g.locate()
            return Symbol(g, g.objects(made).copy())
        return made

    return make


def _number_function(real: Any, name: str) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any) -> Any:
        if not any(isinstance(a, Symbol) for a in args):
            return real(*args)
        return np.linalg.norm(list(args)) if name == "hypot" else getattr(np, _MATH[name])(*args)
    return call


def _imports() -> bool:
    """Tells whether a module is being imported, or source text read for a message."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code not in ENTRIES:
        if frame.f_code.co_filename.startswith("<frozen importlib") or frame.f_code.co_name == "updatecache":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class _Lists:
    """A function of NumPy that takes lists of abstract arrays, too: NumPy itself does not look into lists."""

    def __init__(self, g: Graph, real: Any, several: bool = False) -> None:
        functools.update_wrapper(self, real)
        self._graph, self._real, self._several = g, real, several

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real(*map(self._array, args), **{k: self._array(v) for k, v in kwargs.items()})

    def _array(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or not holds(value):
            return value
        if self._several:
            return [Symbol(self._graph, self._graph.objects(v)) for v in value]
        return Symbol(self._graph, self._graph.objects(value))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return _Lists(self._graph, found) if name in ("reduce", "outer", "accumulate") else found


def _opener(g: Graph, real: Any, thread: int) -> Callable[..., Any]:
    @functools.wraps(real)
    def open_(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread and not _imports():
            g.locate()
            raise g.refusal(f"the function reads the file {args[0] if args else ''!s:.80}",
                            "Read it once, outside the function: numbers from outside become constants")
        return real(*args, **kwargs)
    return open_


@contextlib.contextmanager
def _watched(g: Graph, f: Any) -> Iterator[None]:
    """Has NumPy's makers of arrays, and names that f's module imported of them, make abstract arrays; refuses files."""
    thread = threading.get_ident()
    places: list[tuple[dict[str, Any], str, Any]] = []

    def put(where: dict[str, Any], name: str, value: Any) -> None:
        places.append((where, name, where[name]))
        where[name] = value

    with _LOCK:
        try:
            instead = {id(real): _made(g, name, thread) for name, real in _REAL.items()}
            for name in [*FUNCTIONS, *GENERAL, *UFUNCS, *MATMUL]:
                part, short = (np.linalg, name[7:]) if name.startswith("linalg.") else (np, name)
                if (real := getattr(part, short, None)) is not None and short not in ("block", "einsum"):
                    instead[id(real)] = _Lists(g, real, short in SEVERAL)
                    put(part.__dict__, short, instead[id(real)])
            for name, real in _REAL.items():
                put(np.__dict__, name, instead[id(real)])
            for name in _MATH:
                real = getattr(math, name)
                instead[id(real)] = _number_function(real, name)
                put(math.__dict__, name, instead[id(real)])
            module = getattr(inspect.unwrap(getattr(f, "func", f)), "__globals__", {})
            for name, value in list(module.items()):
                if id(value) in instead and module is not globals():
                    put(module, name, instead[id(value)])
            for where, name in _FILES:
                put(where, name, _opener(g, where[name], thread))
            yield
        finally:
            for where, name, value in reversed(places):
                where[name] = value


def _parts(made: Any) -> dict[str, Any]:
    """Returns what a function returned, an array or several, with what follows the function's name in theirs."""
    if isinstance(made, Mapping):
        return {f".{name}": value for name, value in made.items()}
    if isinstance(made, (list, tuple)) and len(made) > 1:
        return {f"[{k}]": value for k, value in enumerate(made)}
    return {"": made}


def _call(g: Graph, f: Callable[..., Any], args: Mapping[str, Any] | Sequence[Any]) -> list[tuple[str, Node]]:
    """Calls a function with abstract arrays and returns its values with their places."""
    g.here = g.entry
    try:
        with _watched(g, f):
            made = f(**args) if isinstance(args, Mapping) else f(*args)
            if g.refused:  # the function caught the error
                raise g.refused
            out: list[tuple[str, Node]] = []
            for name, value in _parts(made).items():
                if value is None:
                    raise g.refusal("the function returns None", "Return the value, or an array of values")
                a = g.objects(value)
                for at in np.ndindex(a.shape):
                    out.append((name + ("" if a.size == 1 else f"[{','.join(map(str, at))}]"), g.node(a[at])))
            return out
    except ConstraintError:
        raise
    except RecursionError:
        raise g.refusal("the function calls itself without end", "A recursion must end for every x") from None
    except Exception as e:
        if g.refused:
            raise g.refused from None
        place, walk = None, e.__traceback__
        while walk is not None:
            file = walk.tb_frame.f_code.co_filename
            if not file.startswith((NUMPY, HERE, "<__array_function__", *LIBRARY)):
                place = (file, walk.tb_lineno)
            walk = walk.tb_next
        told = f"{type(e).__name__}: {e}"
        hint = f"The function gets one point, an array of {g.dim} numbers, and returns a number or an array"
        raise g.refusal(told.rstrip("."), hint, place) from e


ENTRIES.add(_call.__code__)


def _arguments(f: Callable[..., Any], g: Graph) -> dict[str, Any]:
    """Returns which parameter takes what: a coordinate or a condition by its name, or the whole point (None)."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return {"": None}
    out: dict[str, Any] = {}
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.name in g.scalars:
            out[p.name] = g.scalars[p.name]
        elif p.default is p.empty:
            out[p.name] = None
    points = [name for name, v in out.items() if v is None]
    # Beside names of coordinates, an argument that is not called x is more likely a misspelled name than the point.
    if len(points) > 1 or not out or (points not in ([], ["x"]) and not out.keys().isdisjoint(g.names or ())):
        known = ", ".join(g.scalars) or "none"
        raise g.refusal(f"the function has the arguments {', '.join(out) or 'none'}",
                        f"Expected one, the point, and names of coordinates or of the condition: {known}")
    return out


def _differ(a: Node, b: Node) -> tuple[str, int] | None:
    """Returns the line at which two formulas begin to differ."""
    while a.op == b.op and len(a.args) == len(b.args):
        pair = next(((p, q) for p, q in zip(a.args, b.args) if p is not q), None)
        if pair is None:
            break
        a, b = pair
    return b.at


def trace(g: Graph, f: Callable[..., Any], key: str) -> list[tuple[str, Node]]:
    """Returns the values of a function as formulas, each with its place in what the function returns.

    Raises:
        ConstraintError: it cannot be a formula; with the line of the function.
    """
    code = getattr(inspect.unwrap(getattr(f, "func", f)), "__code__", None)
    g.key, g.entry, g.here, g.refused = key, None, None, None
    if code is not None:
        g.entry = g.here = (code.co_filename, code.co_firstlineno)
    wanted = _arguments(f, g)
    rows: tuple[int, ...] = ()  # of functions of n×d points: one row

    def point(values: Callable[[Any], Any], whole: Any) -> Any:
        args = {name: whole if v is None else values(v) for name, v in wanted.items()}
        return [whole] if "" in args else args if all(map(_keyword(f), args)) else list(args.values())

    def run() -> list[tuple[str, Node]]:
        x = np.array(g.variables[:g.dim], dtype=object).reshape(*rows, g.dim)
        return _call(g, f, point(g.wrap, Symbol(g, x, True)))

    try:
        runs = [run()]
    except ConstraintError as e:
        if not isinstance(e.__cause__, IndexError) or "too many indices" not in e.message:
            raise
        rows, g.refused = (1,), None
        try:
            runs = [run()]
        except ConstraintError:
            raise e from None
    runs.append(run())
    for (_, a), (_, b) in zip(*runs):
        if a is not b:
            raise g.refusal("the function computes something else each time that it is called",
                            "Random numbers, clocks and variables that change cannot be a formula: compute them once, "
                            "outside the function", _differ(a, b))
    if len(runs[0]) != len(runs[1]):
        raise g.refusal("the function returns another number of values each time", "Expected an array of a fixed length")
    _compare(g, f, runs[0], lambda values, x: point(values, x.reshape(*rows, g.dim)))
    return runs[0]


def _keyword(f: Callable[..., Any]) -> Callable[[str], bool]:
    parameters = inspect.signature(f).parameters
    return lambda name: name in parameters and parameters[name].kind is not parameters[name].POSITIONAL_ONLY


def _compare(g: Graph, f: Callable[..., Any], made: Sequence[tuple[str, Node]], point: Callable[..., Any]) -> None:
    """Compares formulas with the function at numbers: a function may treat numbers in another way."""
    draw = np.random.default_rng(1)
    for _ in range(3):
        x = draw.normal(size=len(g.variables))
        try:
            with np.errstate(all="ignore"):
                args = point(lambda v: np.float64(x[v.number]), x[:g.dim].copy())
                told = f(**args) if isinstance(args, Mapping) else f(*args)
            want = np.concatenate([np.ravel(np.asarray(p, dtype=float)) for p in _parts(told).values()])
        except Exception:  # it does not take these numbers
            continue
        got = g.values([n for _, n in made], x[None])[:, 0]
        scale = 1e-8 * (1 + np.max(np.abs(want), initial=0))
        if got.shape != want.shape or not np.all(np.isclose(got, want, 1e-8, scale) | ~np.isfinite(want) | ~np.isfinite(got)):
            raise g.refusal(f"at x = {np.array2string(x, precision=4, threshold=8)} the function has other values than its "
                            "formula", "It may change a variable, or look at the type of its argument", g.entry)
