"""Abstract arrays: NumPy's functions and operators make formulas of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ._graph import CONDITIONS, Elements, Graph, Node, boxed

__all__ = ["FUNCTIONS", "GENERAL", "MATMUL", "SEVERAL", "UFUNCS", "Symbol"]

_MOST_DET = 10
_ADVICE_BRANCH = ("Write np.where(condition, a, b), np.maximum, np.minimum or np.clip, or a constraint for each case. Loops "
                  "over lists and ranges are possible")
_ADVICE_ARRAY = ("Inside the function, np.zeros, np.array, np.stack and np.concatenate make arrays that hold formulas; arrays "
                 "from outside it, float() and other libraries hold numbers alone")


class Symbol(Elements, NDArrayOperatorsMixin):
    """An abstract array. It has the shape and the operations of an array of float64, but no values."""

    __slots__ = ()
    __array_priority__ = 1000
    dtype = np.dtype(float)

    def __repr__(self) -> str:
        return f"<formulas of shape {self._a.shape}>"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._a.shape)

    @property
    def ndim(self) -> int:
        return int(self._a.ndim)

    @property
    def size(self) -> int:
        return int(self._a.size)

    @property
    def T(self) -> Any:  # noqa: N802
        return self._graph.wrap(self._a.T)

    @property
    def real(self) -> Symbol:
        return self

    @property
    def flat(self) -> Iterator[Any]:
        return iter(self.ravel())

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self._a))])

    def __getitem__(self, key: Any) -> Any:
        g = self._graph
        g.locate()
        if isinstance(key, str) and self._argument:
            if key not in g.scalars:
                raise g.refusal(f"there is no coordinate {key!r}", f"Known are {', '.join(g.scalars) or 'none: give names='}")
            return g.wrap(g.scalars[key])
        found = self._a[self._index(key)]
        return Symbol(g, found if isinstance(found, np.ndarray) else boxed(found), self._argument)  # a view, as NumPy's

    def __setitem__(self, key: Any, value: Any) -> None:
        g = self._graph
        g.locate()
        if self._argument:
            raise g.refusal("the function changes its argument", "Begin with x = x.copy()")
        made = g.objects(value)
        self._a[self._index(key)] = made if made.ndim else made[()]

    def _index(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._index(k) for k in key)
        if isinstance(key, list):
            return [self._index(k) for k in key]
        if not isinstance(key, Symbol):
            return key
        real = self._graph_numbers(key)
        if real is None:
            raise self._graph.refusal("an index depends on x", "Write np.where(condition, a, b): a formula has a fixed length")
        return real.astype(bool if any(n.op in CONDITIONS for n in key._a.flat) else int)

    @staticmethod
    def _graph_numbers(value: Symbol) -> Any:
        """Returns an array of numbers if no element depends on x, else None."""
        if all(n.constant for n in value._a.flat):
            return np.array([n.value for n in value._a.flat], dtype=float).reshape(value._a.shape)
        return None

    def _number(self, what: str, write: str) -> Any:
        real = self._graph_numbers(self)
        if real is None:
            self._graph.locate()
            raise self._graph.refusal(what, write)
        return real

    def __bool__(self) -> bool:
        return bool(self._number("the function branches on a value that depends on x, and a formula has no branches",
                                 _ADVICE_BRANCH))

    def __float__(self) -> float:
        return float(self._number("a value that depends on x is turned into a number", _ADVICE_ARRAY))

    def __int__(self) -> int:
        return int(self._number("a value that depends on x is turned into a whole number", _ADVICE_BRANCH))

    def __index__(self) -> int:
        whole = int(self)
        if whole != float(self):
            raise TypeError("expected a whole number")
        return whole

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._number("formulas are put into an array of numbers", _ADVICE_ARRAY), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._graph.locate()
        raise self._graph.refusal(f"arrays of formulas have no .{name}", _known())

    def reshape(self, *shape: Any, **_: Any) -> Any:
        return self._graph.wrap(self._a.reshape(*shape))

    def transpose(self, *axes: Any) -> Any:
        return self._graph.wrap(self._a.transpose(*axes))

    def copy(self, *_: Any) -> Symbol:
        return Symbol(self._graph, self._a.copy())

    def flatten(self, *_: Any) -> Symbol:
        return self.ravel().copy()  # type: ignore[no-any-return]

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Symbol:
        if np.dtype(dtype).kind != "f":
            self._number(f"a value that depends on x is turned into {np.dtype(dtype)}", _ADVICE_BRANCH)
        return self.copy()

    def item(self, *at: Any) -> Any:
        return self._graph.wrap(self._a.item(*at))

    def tolist(self) -> Any:
        return [v.tolist() for v in self] if self.ndim else self

    def fill(self, value: Any) -> None:
        self[...] = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **how: Any) -> Any:
        g = self._graph
        g.locate()
        made = self._ufunc(ufunc, method, inputs, how)
        if out is None:
            return made
        if not isinstance(out[0], Symbol):
            raise g.refusal("formulas are put into an array of numbers", _ADVICE_ARRAY)
        out[0][...] = made
        return out[0]

    def _ufunc(self, ufunc: Any, method: str, inputs: Sequence[Any], how: dict[str, Any]) -> Any:
        g, name = self._graph, ufunc.__name__
        for key in ("dtype", "casting", "order", "subok"):
            how.pop(key, None)
        if name in MATMUL and method == "__call__":
            return g.wrap(ufunc(*(g.objects(v) for v in inputs), **how))
        if name == "clip":
            return _clip(g, *inputs)
        do = UFUNCS.get(name)
        if do is None:
            real = [_real(v) for v in inputs]
            if any(v is None for v in real):
                raise g.refusal(f"np.{name} of a value that depends on x is no formula", _INSTEAD.get(name, _known()))
            return getattr(ufunc, method)(*real, **how)
        whole = functools.partial(do, g)
        if method == "reduce":
            return _fold(g, whole, inputs[0], how.get("axis", 0), how.get("keepdims", False), how.get("initial"))
        if method == "__call__" and set(how) <= {"where"} and how.get("where", True) is True:
            return g.wrap(np.frompyfunc(whole, len(inputs), 1)(*(g.objects(v) for v in inputs)))
        if method in ("outer", "accumulate"):
            return g.wrap(getattr(np.frompyfunc(whole, 2, 1), method)(*(g.objects(v) for v in inputs), **how))
        raise g.refusal(f"np.{name}.{method} of a value that depends on x is no formula", _known())

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        g = self._graph
        g.locate()
        name = ("linalg." if str(func.__module__).endswith("linalg") else "") + func.__name__
        kwargs = {k: v for k, v in kwargs.items() if k not in ("dtype", "optimize")}
        handler = FUNCTIONS.get(name)
        if handler is not None:
            return g.wrap(handler(g, *args, **kwargs))
        if name in GENERAL:
            return g.wrap(func(*_bare(g, args), **_bare(g, kwargs)))
        real, named = _real(args), _real(kwargs)
        if real is None or named is None:
            raise g.refusal(f"np.{name} of a value that depends on x is no formula", _INSTEAD.get(name, _known()))
        return func(*real, **named)


def _bare(g: Graph, value: Any) -> Any:
    """Returns the arguments of a NumPy function with arrays of nodes for abstract arrays."""
    if isinstance(value, Symbol):
        return value._a if value.ndim else value._a[()]
    if isinstance(value, (tuple, list)):
        return type(value)([_bare(g, v) for v in value])
    if isinstance(value, dict):
        return {k: _bare(g, v) for k, v in value.items()}
    return value


def _real(value: Any) -> Any:
    """Returns arguments as numbers, or None if one depends on x."""
    if isinstance(value, Symbol):
        return Symbol._graph_numbers(value)
    if isinstance(value, (tuple, list)):
        out = [_real(v) if isinstance(v, (Symbol, tuple, list)) else v for v in value]
        return None if any(v is None and w is not None for v, w in zip(out, value)) else type(value)(out)
    if isinstance(value, dict):
        known = _real(list(value.values()))
        return None if known is None else dict(zip(value, known))
    return value


def _fold(g: Graph, do: Callable[[Any, Any], Any], value: Any, axis: Any = None, keepdims: Any = False,
          initial: Any = None) -> Any:
    """Joins the elements along axes, in order; all of them if axis is None."""
    a = g.objects(value)
    axes = sorted(ax % a.ndim for ax in (range(a.ndim) if axis is None else np.atleast_1d(axis)))
    rest = [i for i in range(a.ndim) if i not in axes]
    shape = [a.shape[i] for i in rest]
    rows = a.transpose(*rest, *axes).reshape(int(np.prod(shape)), -1)
    start = [] if initial is None or initial is np._NoValue else [g.node(initial)]
    if not rows.shape[1] and not start:
        raise g.refusal("a reduction of no elements", "Give it at least one")
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = functools.reduce(do, [*start, *row])
    return g.wrap(out.reshape([1 if i in axes else n for i, n in enumerate(a.shape)] if keepdims is True else shape))


def _total(op: str) -> Callable[..., Any]:
    def total(g: Graph, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
              **_: Any) -> Any:
        if op in ("+", "*") and initial is None:
            initial = 0.0 if op == "+" else 1.0
        return _fold(g, functools.partial(g.make, op), a, axis, keepdims, initial)
    return total


def _mean(g: Graph, a: Any, axis: Any = None, **how: Any) -> Any:
    total = _total("+")(g, a, axis, **how)
    return total / (g.objects(a).size / max(total.size, 1))


def _var(g: Graph, a: Any, axis: Any = None, ddof: float = 0, **how: Any) -> Any:
    a = g.wrap(g.objects(a))
    off = a - _mean(g, a, axis, keepdims=True)
    total = _total("+")(g, off * off, axis, **how)
    return total / (a.size / max(total.size, 1) - ddof)


def _norm(g: Graph, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    a = g.objects(x)
    matrix = (axis is None and a.ndim == 2) or isinstance(axis, tuple)
    if matrix and ord not in (None, "fro") or not matrix and ord not in (None, 1, 2, np.inf):
        raise g.refusal(f"np.linalg.norm with ord={ord} is no formula", "Expected the Euclidean or Frobenius norm, 1 or np.inf")
    if ord == 1 or ord == np.inf:
        sizes = np.frompyfunc(lambda v: g.make("abs", v), 1, 1)(a)
        return _total("+" if ord == 1 else "max")(g, g.wrap(sizes), axis, keepdims=keepdims)
    axes = tuple(range(a.ndim)) if axis is None else tuple(int(i) % a.ndim for i in np.atleast_1d(axis))
    rest = [i for i in range(a.ndim) if i not in axes]
    rows = a.transpose(*rest, *axes).reshape(int(np.prod([a.shape[i] for i in rest])), -1)
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = g.make("norm", *row)
    return g.wrap(out.reshape([1 if i in axes else n for i, n in enumerate(a.shape)] if keepdims
                              else [a.shape[i] for i in rest]))


def _det(g: Graph, a: Any) -> Any:
    m = g.objects(a)
    if m.ndim < 2 or m.shape[-1] != m.shape[-2] or m.shape[-1] > _MOST_DET:
        raise g.refusal(f"np.linalg.det of shape {m.shape}", f"Expected square matrices of at most {_MOST_DET} rows")
    rows = m.reshape(-1, m.shape[-1] ** 2)
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = g.make("det", *row)
    return g.wrap(out.reshape(m.shape[:-2]))


def _where(g: Graph, condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise g.refusal("np.where of a condition alone has a length that depends on x", "Write np.where(condition, a, b)")
    return g.wrap(np.frompyfunc(g.choose, 3, 1)(*(g.objects(v) for v in (condition, *branches))))


def _select(g: Graph, conditions: Any, choices: Any, default: Any = 0) -> Any:
    out = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        out = _where(g, condition, choice, out)
    return out


def _clip(g: Graph, a: Any, least: Any = None, most: Any = None, **how: Any) -> Any:
    least, most = how.get("a_min", how.get("min", least)), how.get("a_max", how.get("max", most))
    a = g.wrap(g.objects(a))
    for bound, do in ((least, np.maximum), (most, np.minimum)):
        a = a if bound is None else do(a, bound)
    return a


def _like(value: float | None) -> Callable[..., Any]:
    def like(g: Graph, a: Any, fill: Any = None, **_: Any) -> Any:
        shape = g.objects(a).shape
        return Symbol(g, np.broadcast_to(g.objects(fill if value is None else value), shape).copy())
    return like


def _all(op: str) -> Callable[..., Any]:
    def total(g: Graph, a: Any, axis: Any = None, keepdims: Any = False, **_: Any) -> Any:
        return _fold(g, functools.partial(g.make, op), a, axis, keepdims)
    return total


# NumPy's ufuncs, as operations of nodes.
UFUNCS: dict[str, Callable[..., Node]] = {
    name: functools.partial(lambda op, g, *args: g.make(op, *args), op) for name, op in {
        "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "^", "float_power": "^",
        "pow": "^", "negative": "neg", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
        "absolute": "abs", "fabs": "abs", "arctan2": "atan2", "maximum": "max", "minimum": "min", "fmax": "max",
        "fmin": "min", "hypot": "norm", "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or",
        "logical_not": "not", "invert": "not",
    }.items()
}
UFUNCS |= {
    "positive": lambda g, u: g.node(u),
    "conjugate": lambda g, u: g.node(u),
    "square": lambda g, u: g.make("^", u, 2.0),
    "reciprocal": lambda g, u: g.make("/", 1.0, u),
    "exp2": lambda g, u: g.make("^", 2.0, u),
    "expm1": lambda g, u: g.make("exp", u) - 1.0,
    "log1p": lambda g, u: g.make("log", g.make("+", 1.0, u)),
    "log2": lambda g, u: g.make("/", g.make("log", u), math.log(2)),
    "log10": lambda g, u: g.make("/", g.make("log", u), math.log(10)),
    "logaddexp": lambda g, u, v: g.make("+", u, g.make("softplus", g.make("-", v, u))),
    "arccosh": lambda g, u: g.make("log", u + g.make("sqrt", u * u - 1.0)),
    "arcsinh": lambda g, u: g.choose(
        g.least(u, 0), g.make("log", g.make("abs", u) + g.make("norm", u, 1.0)),
        -g.make("log", g.make("abs", u) + g.make("norm", u, 1.0))),
    "arctanh": lambda g, u: 0.5 * g.make("log", (1.0 + u) / (1.0 - u)),
    "deg2rad": lambda g, u: g.make("*", u, math.pi / 180),
    "radians": lambda g, u: g.make("*", u, math.pi / 180),
    "rad2deg": lambda g, u: g.make("*", u, 180 / math.pi),
    "degrees": lambda g, u: g.make("*", u, 180 / math.pi),
    "sign": lambda g, u: g.choose(g.least(0, u), g.choose(g.least(u, 0), 0.0, -1.0), 1.0),
    "greater_equal": lambda g, u, v: g.least(u, v),
    "less_equal": lambda g, u, v: g.least(v, u),
    "greater": lambda g, u, v: g.make("not", g.least(v, u)),
    "less": lambda g, u, v: g.make("not", g.least(u, v)),
    "equal": lambda g, u, v: g.make("and", g.least(u, v), g.least(v, u)),
    "not_equal": lambda g, u, v: g.make("not", g.make("and", g.least(u, v), g.least(v, u))),
}
MATMUL = ("matmul", "vecdot", "matvec", "vecmat")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _total("+"), "prod": _total("*"), "max": _total("max"), "amax": _total("max"), "min": _total("min"),
    "amin": _total("min"), "mean": _mean, "var": _var, "std": lambda g, a, axis=None, **how: np.sqrt(_var(g, a, axis, **how)),
    "all": _all("and"), "any": _all("or"), "linalg.norm": _norm, "linalg.vector_norm": _norm, "linalg.det": _det,
    "where": _where, "select": _select, "clip": _clip, "zeros_like": _like(0.0), "empty_like": _like(0.0), "ones_like": _like(1.0),
    "full_like": _like(None), "copy": lambda g, a, **_: g.objects(a).copy(), "real": lambda g, a: a,
    "nansum": _total("+"), "linalg.matmul": lambda g, a, b: np.matmul(a, b),
    "shape": lambda g, a: g.objects(a).shape, "ndim": lambda g, a: g.objects(a).ndim, "size": lambda g, a: g.objects(a).size,
}

# NumPy's functions that rearrange, or that add and multiply elements: they do so with arrays of objects.
GENERAL = set("""reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis expand_dims squeeze concatenate
concat stack vstack hstack dstack column_stack row_stack roll flip fliplr flipud rot90 tile repeat take take_along_axis diag
diagonal diagflat tril triu split array_split vsplit hsplit atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays append
delete insert block meshgrid pad dot vdot inner outer tensordot einsum kron cross trace cumsum cumprod diff ediff1d convolve
polyval trapezoid linalg.multi_dot linalg.matrix_power linalg.outer linalg.cross linalg.trace linalg.diagonal
linalg.matrix_transpose linalg.tensordot linalg.vecdot""".split())

SEVERAL = ("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack", "multi_dot",
            "broadcast_arrays", "select")

_INSTEAD = {
    "linalg.inv": "Write the equation A @ y = b with y among the coordinates, or the inverse of a small matrix by hand",
    "linalg.solve": "Write the equation A @ y = b with y among the coordinates",
    "linalg.slogdet": "Write np.log(np.linalg.det(A))",
    "linalg.eigvalsh": "A matrix is positive definite where its leading minors are above 0: write np.linalg.det(A[:k, :k])",
    "linalg.cholesky": "Write L @ L.T = A with L among the coordinates",
    "linalg.svd": "Write U @ np.diag(s) @ V.T = A with U, s and V among the coordinates",
    "floor": "A step has no derivative: write one constraint for each case",
    "floor_divide": "A step has no derivative: write one constraint for each case",
    "rint": "A step has no derivative: write one constraint for each case",
    "remainder": "Write np.cos and np.sin of an angle, or np.arctan2(np.sin(a), np.cos(a)), which lies in [-π, π)",
    "argmax": "An index cannot depend on x: write np.max", "argmin": "An index cannot depend on x: write np.min",
    "sort": "An order cannot depend on x: write np.minimum and np.maximum", "median": "An order cannot depend on x",
    "interp": "Write np.where for each piece, or a polynomial",
}


def _known() -> str:
    return ("Formulas have arithmetic, powers, np.sqrt exp log sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh abs "
            "hypot maximum minimum clip where, sum prod mean, dot matmul einsum cross, linalg.norm and linalg.det, and what "
            "rearranges arrays (docs/python.md#functions-as-constraints)")


for _name in ("sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "ravel", "squeeze", "dot", "trace", "cumsum",
              "cumprod", "diagonal", "repeat", "take", "swapaxes", "clip"):
    setattr(Symbol, _name, functools.partialmethod(
        lambda self, how, *args, **kwargs: getattr(np, how)(self, *args, **kwargs), _name))
Graph.array = Symbol
