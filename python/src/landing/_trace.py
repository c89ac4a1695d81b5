"""Python functions of NumPy arrays as formulas.

A function is called with an abstract array: its elements are formulas of the coordinates, not numbers. What the
function computes from them is written in the formula language (docs/formulas.md). Equal parts are one node; a part
that is used twice becomes a definition. What cannot be a formula is refused with the line of the function.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import io
import linecache
import math
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ._errors import ConstraintError

__all__ = ["Graph", "Node", "Symbol", "trace"]

MOST_NODES = 1 << 17  # different operations of all functions of a problem: more do not fit in a problem file
MOST_STEPS = 1 << 18  # operations, equal ones too: some seconds
MOST_TEXT = 900_000  # bytes of formulas: a problem file has at most 1 MiB
_LONG = 2000  # characters of a formula above which a part becomes a definition
_DEEP = 40  # brackets inside brackets, likewise; the program reads 200
_MOST_DET = 10

_NUMPY = os.path.dirname(np.__file__)
_HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = (os.path.dirname(os.__file__), *(sysconfig.get_path(name) for name in ("purelib", "platlib")))


class Node:
    """A formula, as an element of an array of objects: NumPy's own loops add and multiply it."""

    __slots__ = ("args", "at", "graph", "number", "op", "value")

    def __init__(self, graph: Graph, op: str, args: tuple[Node, ...], value: Any, number: int) -> None:
        self.graph, self.op, self.args, self.value, self.number = graph, op, args, value, number
        self.at = graph.here

    def __add__(self, other: Any) -> Node:
        return self.graph.make("+", self, other)

    def __radd__(self, other: Any) -> Node:
        return self.graph.make("+", other, self)

    def __sub__(self, other: Any) -> Node:
        return self.graph.make("-", self, other)

    def __rsub__(self, other: Any) -> Node:
        return self.graph.make("-", other, self)

    def __mul__(self, other: Any) -> Node:
        return self.graph.make("*", self, other)

    def __rmul__(self, other: Any) -> Node:
        return self.graph.make("*", other, self)

    def __truediv__(self, other: Any) -> Node:
        return self.graph.make("/", self, other)

    def __rtruediv__(self, other: Any) -> Node:
        return self.graph.make("/", other, self)

    def __neg__(self) -> Node:
        return self.graph.make("neg", self)

    def conjugate(self) -> Node:
        return self

    @property
    def stepped(self) -> bool:
        """Whether it is one of several numbers, by conditions on x: its derivative is 0."""
        return self.op == "where" and all(a.constant or a.stepped for a in self.args[1:])

    @property
    def constant(self) -> bool:
        return self.op == "const"


def _softplus(t: Any) -> Any:
    return np.logaddexp(0, t)


# What each operation computes, at numbers. Those of conditions are not written: _choose makes `where` of them.
_COMPUTE: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "neg": np.negative,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs,
    "softplus": _softplus, "atan2": np.arctan2, "min": np.minimum, "max": np.maximum,
    "where": lambda t, a, b: np.where(t >= 0, a, b),
    "norm": lambda *v: np.sqrt(sum(u * u for u in v)),
    "det": lambda *v: np.linalg.det(np.moveaxis(np.reshape(v, (math.isqrt(len(v)),) * 2 + np.shape(v[0])), (0, 1), (-2, -1))),
    ">=": lambda t: 1.0 * (t >= 0), "not": lambda c: 1.0 - c, "and": np.minimum, "or": np.maximum,
}
_CONDITIONS = (">=", "not", "and", "or")


class Graph:
    """The formulas of a problem's functions. Equal ones are one node.

    Args:
        names: of the coordinates; None: they are x[0], x[1], …
        dim: how many there are.
        given: names of the numbers of a condition.
    """

    def __init__(self, dim: int, names: Sequence[str] | None = None, given: Sequence[str] = ()) -> None:
        self.nodes: list[Node] = []
        self.steps = 0
        self.index: dict[Any, Node] = {}
        self.here: tuple[str, int] | None = None  # line of the function that is at work
        self.key = ""
        self.entry: tuple[str, int] | None = None
        self.refused: ConstraintError | None = None
        self.dim, self.names = dim, list(names) if names is not None else None
        texts = list(names) if names is not None else [f"x[{j}]" for j in range(dim)]
        self.variables = [self._intern("x", (), text) for text in [*texts, *given]]
        self.scalars: dict[str, Node] = dict(zip([*(names or []), *given], self.variables[0 if names is not None else dim:]))

    def _intern(self, op: str, args: tuple[Node, ...], value: Any = None) -> Node:
        numbers = tuple(sorted(a.number for a in args)) if op in ("+", "*") else tuple(a.number for a in args)
        key = (op, numbers, value, math.copysign(1, value) if op == "const" else 0)
        node = self.index.get(key)
        if node is None:
            if len(self.nodes) >= MOST_NODES:
                raise self._large(MOST_NODES)
            node = self.index[key] = Node(self, op, args, value, len(self.nodes))
            self.nodes.append(node)
        return node

    def node(self, value: Any) -> Node:
        """Returns a node of a number, or of a condition that is used as a number 0 or 1."""
        if isinstance(value, Node):
            return self.choose(value, 1.0, 0.0) if value.op in _CONDITIONS else value
        if isinstance(value, Symbol):
            return self.node(value._a[()])
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return self.node(value[()])
        if isinstance(value, (complex, np.complexfloating)):
            raise self.refusal("the function makes complex numbers", "Formulas are real: write real and imaginary parts")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self.refusal(f"{value!r:.40} is no number", "Formulas are made of numbers") from None
        if not math.isfinite(number):
            raise self.refusal(f"the function computes {number}", "Formulas have finite numbers")
        return self._intern("const", (), number)

    def make(self, op: str, *operands: Any) -> Node:
        """Returns the node of an operation, with what is 0 or 1 for all x left out."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise self._large(MOST_STEPS)
        args = operands if op in _CONDITIONS[1:] else tuple(self.node(a) for a in operands)
        if args and all(a.constant for a in args):
            with np.errstate(all="ignore"):
                return self.node(_COMPUTE[op](*(np.float64(a.value) for a in args)))
        a, b = args[0], args[-1]
        zero = [n.constant and n.value == 0 for n in (a, b)]
        unit = [n.constant and n.value == 1 for n in (a, b)]
        if op == "+":
            if zero[0] or zero[1]:
                return b if zero[0] else a
            if b.op == "neg":
                return self.make("-", a, b.args[0])
        elif op == "-":
            if zero[1] or zero[0]:
                return a if zero[1] else self.make("neg", b)
            if a is b:
                return self.node(0.0)
            if b.op == "neg":
                return self.make("+", a, b.args[0])
        elif op == "*":
            if zero[0] or zero[1]:
                return self.node(0.0)
            if unit[0] or unit[1]:
                return b if unit[0] else a
            if a is b:
                return self.make("^", a, 2.0)
        elif op == "/":
            if zero[1]:
                raise self.refusal("the function divides by 0", "Formulas have finite numbers")
            if unit[1] or zero[0]:
                return a
        elif op == "^":
            if b.constant and b.value in (0.0, 1.0):
                return self.node(1.0) if b.value == 0 else a
            if b.constant and b.value == 0.5:
                return self.make("sqrt", a)
        elif op == "neg" and a.op in ("neg", "-"):
            return a.args[0] if a.op == "neg" else self.make("-", *reversed(a.args))
        elif op == "norm":
            args = tuple(n for n in args if not (n.constant and n.value == 0))
            if len(args) == 1:
                return self.make("abs", args[0])
            if len(args) > 100 and not self._run(args):
                return self.make("sqrt", functools.reduce(lambda s, n: s + n, [n * n for n in args]))
        elif op == "det" and len(args) == 1:
            return a
        return self._intern(op, args)

    def _large(self, most: int) -> ConstraintError:
        return self.refusal(f"the formulas have more than {most} operations",
                            "Write a set of formulas with ranges, sum(i in 0..99, …), or fewer constraints")

    def least(self, a: Any, b: Any) -> Node:
        """The condition a >= b."""
        return self.make(">=", self.make("-", a, b))

    def choose(self, condition: Any, a: Any, b: Any) -> Node:
        """Returns a where the condition holds, else b."""
        if not isinstance(condition, Node):
            condition = self.node(condition)
        c = condition
        if c.constant or a is b:
            return self.node(a if c.constant and c.value else b)
        if c.op == ">=":
            return self.make("where", c.args[0], a, b)
        if c.op == "not":
            return self.choose(c.args[0], b, a)
        if c.op == "and":
            return self.choose(c.args[0], self.choose(c.args[1], a, b), b)
        if c.op == "or":
            return self.choose(c.args[0], a, self.choose(c.args[1], a, b))
        return self.choose(self.make("not", self.make("and", self.least(c, 0), self.least(0, c))), a, b)  # c != 0

    def wrap(self, value: Any) -> Any:
        """Returns what NumPy made of arrays of formulas as abstract arrays."""
        if isinstance(value, Node):
            return Symbol(self, np.array(value, dtype=object))
        if isinstance(value, np.ndarray) and value.dtype == object:
            return Symbol(self, _objects(self._lift(value)))
        if isinstance(value, (tuple, list)):
            return type(value)([self.wrap(v) for v in value])
        return value

    def _lift(self, value: Any) -> Any:
        return np.frompyfunc(lambda v: v if isinstance(v, Node) else self.node(v), 1, 1)(value)

    def objects(self, value: Any) -> Any:
        """Returns numbers or an abstract array as an array of nodes."""
        if isinstance(value, Symbol):
            return value._a
        if isinstance(value, (list, tuple)) and _holds(value):
            return np.stack([self.objects(v) for v in value])
        return _objects(self._lift(np.asarray(value)))

    # Refusals

    def locate(self) -> None:
        """Remembers the line of the user's function that is at work."""
        frame = sys._getframe(2)
        library: tuple[str, int] | None = None
        while frame is not None:
            file = frame.f_code.co_filename
            if frame.f_code is _ENTRY:
                break
            if not file.startswith((_NUMPY, _HERE, "<frozen", "<__array_function__")):
                if not file.startswith(_LIBRARY):
                    self.here = (file, frame.f_lineno)
                    return
                library = library or (file, frame.f_lineno)
            frame = frame.f_back  # type: ignore[assignment]
        self.here = library or self.here or self.entry

    def refusal(self, what: str, write: str, at: tuple[str, int] | None = None) -> ConstraintError:
        """Returns the error: where, what the function does, and what to write instead."""
        file, line = at or self.here or self.entry or ("", 0)
        place = self.key
        if file:
            text = linecache.getline(file, line).strip()
            name = f"line {line} of a cell" if "ipykernel_" in file else f"{os.path.basename(file)}:{line}"
            place += f", {name}" + (f": `{text:.100}`" if text else "")
        error = ConstraintError(f"{place}: {what}. {write}.", key=self.key, file=file or None, line=line or None)
        self.refused = self.refused or error
        return error

    # Text

    def _run(self, args: Sequence[Node]) -> str:
        """Returns the slice of x that the nodes are, or nothing."""
        first = args[0].number
        whole = first + len(args) <= self.dim and all(a.op == "x" and a.number == first + i for i, a in enumerate(args))
        if whole and len(args) > 1:
            return "x" if len(args) == self.dim else f"x[{first}:{first + len(args)}]"
        return ""

    def _list(self, args: Sequence[Node], text: Mapping[int, tuple[str, int, int]]) -> str:
        return self._run(args) or "[" + ", ".join(text[a.number][0] for a in args) + "]"

    def write(self, roots: Sequence[Node], fresh: Callable[[], str]) -> tuple[dict[str, str], list[str]]:
        """Returns definitions by name, in order, and the formulas of the roots."""
        uses: dict[int, int] = {}
        stack = list(roots)
        while stack:
            n = stack.pop()
            uses[n.number] = uses.get(n.number, 0) + 1
            if uses[n.number] == 1:
                stack.extend(n.args)
        lets: dict[str, str] = {}
        text: dict[int, tuple[str, int, int]] = {}  # of a node: its text, how it binds, brackets inside brackets
        size = 0
        for number in sorted(uses):  # operands come before what is made of them
            n = self.nodes[number]
            made, binds = self._text(n, text)
            deep = 1 + max((text[a.number][2] for a in n.args), default=0)
            shared = uses[number] > 1 and n.op not in ("x", "const") and not (n.op == "neg" and n.args[0].op == "x")
            if shared or len(made) > _LONG or deep > _DEEP:
                name = fresh()
                lets[name], size = made, size + len(made)
                made, binds, deep = name, 5, 0
            text[number] = made, binds, deep
        out = [text[n.number][0] for n in roots]
        if size + sum(map(len, out)) > MOST_TEXT:
            raise self.refusal(f"the formulas have {size + sum(map(len, out))} characters; a problem file has at most 1 MiB",
                               "Write a set of formulas with ranges, sum(i in 0..99, …), or fewer constraints")
        return lets, out

    def _text(self, n: Node, text: Mapping[int, tuple[str, int, int]]) -> tuple[str, int]:
        """Returns the text of a node, and how it binds: 1 sums, 2 products, 3 powers, 5 what needs no brackets."""
        def operand(a: Node, least: int, right: bool = True) -> str:
            t, binds, _ = text[a.number]
            return f"({t})" if binds < least or right and t.startswith("-") else t

        if n.op == "x":
            return str(n.value), 5
        if n.op == "const":
            return (str(int(n.value)) if n.value == int(n.value) and abs(n.value) < 1e15 else repr(n.value)), 5
        if n.op in ("+", "-", "*", "/"):
            a, b = n.args
            binds = 1 if n.op in "+-" else 2
            sign = f" {n.op} " if binds == 1 else n.op
            return operand(a, binds, False) + sign + operand(b, binds + (n.op in "-/")), binds
        if n.op == "^":
            return operand(n.args[0], 4) + "^" + operand(n.args[1], 4), 3
        if n.op == "neg":
            return "-" + operand(n.args[0], 2), 1
        if n.op == "norm":
            return f"norm({self._list(n.args, text)})", 5
        if n.op == "det":
            rows = math.isqrt(len(n.args))
            return f"det([{', '.join(self._list(n.args[i * rows:][:rows], text) for i in range(rows))}])", 5
        return f"{n.op}({', '.join(text[a.number][0] for a in n.args)})", 5

    def values(self, roots: Sequence[Node], x: Any) -> Any:
        """Evaluates nodes at points, n×d, a condition behind the coordinates: an array, roots×n."""
        known: dict[int, Any] = {}
        wanted, stack = set(), list(roots)
        while stack:
            n = stack.pop()
            if n.number not in wanted:
                wanted.add(n.number)
                stack.extend(n.args)
        with np.errstate(all="ignore"):
            for number in sorted(wanted):
                n = self.nodes[number]
                if n.op in ("x", "const"):
                    known[number] = x[:, number] if n.op == "x" else np.full(len(x), n.value)
                else:
                    known[number] = _COMPUTE[n.op](*(known[a.number] for a in n.args))
        return np.array([known[n.number] for n in roots]).reshape(len(roots), len(x))

    def repeats(self, roots: Sequence[Node], opposite: bool) -> list[bool]:
        """Tells which formulas repeat an earlier one, such as the second half of X.T @ X - I.

        They read the same coordinates, have the same values (or opposite ones) at random points, and vary there. A sum
        that is 0 for every x, but for rounding, repeats nothing and says nothing.
        """
        x = np.random.default_rng(2).normal(size=(6, len(self.variables)))
        values = self.values(roots, x)
        reads: dict[int, frozenset[int]] = {}
        for n in self.nodes:
            reads[n.number] = frozenset([n.number]) if n.op == "x" else frozenset().union(*(reads[a.number] for a in n.args))
        seen: dict[Any, Any] = {}
        out = []
        for n, v in zip(roots, values):
            v = -v if opposite and v[0] < 0 else v
            known = seen.setdefault(reads[n.number], [])
            plain = len(set(v)) < len(v) or not np.isfinite(v).all()
            none = n.op in ("+", "-") and bool(np.all(np.abs(v) <= 1e-12 * np.abs(self.values(n.args, x)).max(axis=0)))
            out.append(none or any(n is m or not plain and np.allclose(v, w, 1e-11, 0) for m, w in known))
            known.append((n, v))
        return out


def _objects(value: Any) -> Any:
    """An array of objects, 0-dimensional too."""
    if isinstance(value, np.ndarray):
        return value
    out = np.empty((), dtype=object)
    out[()] = value
    return out


def _holds(value: Any) -> bool:
    """Tells whether lists, at any depth, hold an abstract array."""
    if isinstance(value, (list, tuple)):
        return any(_holds(v) for v in value)
    return isinstance(value, Symbol)


_ADVICE_BRANCH = ("Write np.where(condition, a, b), np.maximum, np.minimum or np.clip, or a constraint for each case. Loops "
                  "over lists and ranges are possible")
_ADVICE_ARRAY = ("Inside the function, np.zeros, np.array, np.stack and np.concatenate make arrays that hold formulas; arrays "
                 "from outside it, float() and other libraries hold numbers alone")


class Symbol(NDArrayOperatorsMixin):
    """An abstract array. It has the shape and the operations of an array of float64, but no values."""

    __slots__ = ("_a", "_argument", "_graph")
    __array_priority__ = 1000
    dtype = np.dtype(float)

    def __init__(self, graph: Graph, a: Any, argument: bool = False) -> None:
        self._graph, self._a, self._argument = graph, a, argument

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
        return Symbol(g, found if isinstance(found, np.ndarray) else _objects(found), self._argument)  # a view, as NumPy's

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
        return real.astype(bool if any(n.op in _CONDITIONS for n in key._a.flat) else int)

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
        if name in _MATMUL and method == "__call__":
            return g.wrap(ufunc(*(g.objects(v) for v in inputs), **how))
        if name == "clip":
            return _clip(g, *inputs)
        do = _UFUNCS.get(name)
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
        handler = _FUNCTIONS.get(name)
        if handler is not None:
            return g.wrap(handler(g, *args, **kwargs))
        if name in _GENERAL:
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
_UFUNCS: dict[str, Callable[..., Node]] = {
    name: functools.partial(lambda op, g, *args: g.make(op, *args), op) for name, op in {
        "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "^", "float_power": "^",
        "pow": "^", "negative": "neg", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
        "absolute": "abs", "fabs": "abs", "arctan2": "atan2", "maximum": "max", "minimum": "min", "fmax": "max",
        "fmin": "min", "hypot": "norm", "logical_and": "and", "bitwise_and": "and", "logical_or": "or", "bitwise_or": "or",
        "logical_not": "not", "invert": "not",
    }.items()
}
_UFUNCS |= {
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
_MATMUL = ("matmul", "vecdot", "matvec", "vecmat")

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _total("+"), "prod": _total("*"), "max": _total("max"), "amax": _total("max"), "min": _total("min"),
    "amin": _total("min"), "mean": _mean, "var": _var, "std": lambda g, a, axis=None, **how: np.sqrt(_var(g, a, axis, **how)),
    "all": _all("and"), "any": _all("or"), "linalg.norm": _norm, "linalg.vector_norm": _norm, "linalg.det": _det,
    "where": _where, "select": _select, "clip": _clip, "zeros_like": _like(0.0), "empty_like": _like(0.0), "ones_like": _like(1.0),
    "full_like": _like(None), "copy": lambda g, a, **_: g.objects(a).copy(), "real": lambda g, a: a,
    "nansum": _total("+"), "linalg.matmul": lambda g, a, b: np.matmul(a, b),
    "shape": lambda g, a: g.objects(a).shape, "ndim": lambda g, a: g.objects(a).ndim, "size": lambda g, a: g.objects(a).size,
}

# NumPy's functions that rearrange, or that add and multiply elements: they do so with arrays of objects.
_GENERAL = set("""reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis expand_dims squeeze concatenate
concat stack vstack hstack dstack column_stack row_stack roll flip fliplr flipud rot90 tile repeat take take_along_axis diag
diagonal diagflat tril triu split array_split vsplit hsplit atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays append
delete insert block meshgrid pad dot vdot inner outer tensordot einsum kron cross trace cumsum cumprod diff ediff1d convolve
polyval trapezoid linalg.multi_dot linalg.matrix_power linalg.outer linalg.cross linalg.trace linalg.diagonal
linalg.matrix_transpose linalg.tensordot linalg.vecdot""".split())

_SEVERAL = ("concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack", "multi_dot",
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
        if name.startswith(("array", "as")) and _holds(given):
            g.locate()
            made = g.objects(given)
            return given if name != "array" and isinstance(given, Symbol) else Symbol(g, made.copy())
        if name == "full" and (len(args) > 1 and _holds(args[1]) or _holds(kwargs.get("fill_value"))):
            fill = args[1] if len(args) > 1 else kwargs["fill_value"]
            return Symbol(g, np.broadcast_to(g.objects(fill), np.shape(real(given or 0, 0.0))).copy())
        made = real(*args, **kwargs)
        user = not sys._getframe(1).f_code.co_filename.startswith((_NUMPY, _HERE, *_LIBRARY))
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
    while frame is not None and frame.f_code is not _ENTRY:
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
        if not isinstance(value, (list, tuple)) or not _holds(value):
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
            for name in [*_FUNCTIONS, *_GENERAL, *_UFUNCS, *_MATMUL]:
                part, short = (np.linalg, name[7:]) if name.startswith("linalg.") else (np, name)
                if (real := getattr(part, short, None)) is not None and short not in ("block", "einsum"):
                    instead[id(real)] = _Lists(g, real, short in _SEVERAL)
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
            if not file.startswith((_NUMPY, _HERE, "<__array_function__", *_LIBRARY)):
                place = (file, walk.tb_lineno)
            walk = walk.tb_next
        told = f"{type(e).__name__}: {e}"
        hint = f"The function gets one point, an array of {g.dim} numbers, and returns a number or an array"
        raise g.refusal(told.rstrip("."), hint, place) from e


_ENTRY = _call.__code__


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
