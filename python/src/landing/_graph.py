"""Formulas as graphs: what the functions of a problem compute. Equal parts are one node.

A part that is used twice becomes a definition (docs/formulas.md). What cannot be a formula is refused with the line of
the function that is at work.
"""

from __future__ import annotations

import functools
import linecache
import math
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._errors import ConstraintError

__all__ = ["Elements", "Graph", "Node", "holds"]

MOST_NODES = 1 << 17  # different operations of all functions of a problem: more do not fit in a problem file
MOST_STEPS = 1 << 18  # operations, equal ones too: some seconds
MOST_TEXT = 900_000  # bytes of formulas: a problem file has at most 1 MiB
_LONG = 2000  # characters of a formula above which a part becomes a definition
_DEEP = 40  # brackets inside brackets, likewise; the program reads 200

NUMPY = os.path.dirname(np.__file__)
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = (os.path.dirname(os.__file__), *(sysconfig.get_path(name) for name in ("purelib", "platlib")))
ENTRIES: set[Any] = set()  # code that calls the functions of a problem


class Node:
    """A formula, as an element of an array of objects: NumPy's own loops add and multiply it."""

    __slots__ = ("args", "at", "graph", "number", "op", "value")

    def __init__(self, graph: Graph, op: str, args: tuple[Node, ...], value: Any, number: int) -> None:
        self.graph, self.op, self.args, self.value, self.number = graph, op, args, value, number
        self.at = graph.here

    def __add__(self, other: Any) -> Node: return self.graph.make("+", self, other)
    def __radd__(self, other: Any) -> Node: return self.graph.make("+", other, self)
    def __sub__(self, other: Any) -> Node: return self.graph.make("-", self, other)
    def __rsub__(self, other: Any) -> Node: return self.graph.make("-", other, self)
    def __mul__(self, other: Any) -> Node: return self.graph.make("*", self, other)
    def __rmul__(self, other: Any) -> Node: return self.graph.make("*", other, self)
    def __truediv__(self, other: Any) -> Node: return self.graph.make("/", self, other)
    def __rtruediv__(self, other: Any) -> Node: return self.graph.make("/", other, self)

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


# What each operation computes, at numbers. Those of conditions are not written: _choose makes `where` of them.
_COMPUTE: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "^": np.power, "neg": np.negative,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs,
    "softplus": lambda t: np.logaddexp(0, t), "atan2": np.arctan2, "min": np.minimum, "max": np.maximum,
    "where": lambda t, a, b: np.where(t >= 0, a, b),
    "norm": lambda *v: np.sqrt(sum(u * u for u in v)),
    "det": lambda *v: np.linalg.det(np.moveaxis(np.reshape(v, (math.isqrt(len(v)),) * 2 + np.shape(v[0])), (0, 1), (-2, -1))),
    ">=": lambda t: 1.0 * (t >= 0), "not": lambda c: 1.0 - c, "and": np.minimum, "or": np.maximum,
}
CONDITIONS = (">=", "not", "and", "or")


class Elements:
    """An array of nodes. A Symbol has the operations of NumPy's arrays, too."""

    __slots__ = ("_a", "_argument", "_graph")

    def __init__(self, graph: Graph, a: Any, argument: bool = False) -> None:
        self._graph, self._a, self._argument = graph, a, argument


class Graph:
    """The formulas of a problem's functions. Equal ones are one node.

    Args:
        names: of the coordinates; None: they are x[0], x[1], …
        dim: how many there are.
        given: names of the numbers of a condition.
    """

    array: type[Elements] = Elements  # Symbol, from its definition on

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
            return self.choose(value, 1.0, 0.0) if value.op in CONDITIONS else value
        if isinstance(value, Elements):
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
        args = operands if op in CONDITIONS[1:] else tuple(self.node(a) for a in operands)
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
            return self.array(self, np.array(value, dtype=object))
        if isinstance(value, np.ndarray) and value.dtype == object:
            return self.array(self, boxed(self._lift(value)))
        if isinstance(value, (tuple, list)):
            return type(value)([self.wrap(v) for v in value])
        return value

    def _lift(self, value: Any) -> Any:
        return np.frompyfunc(lambda v: v if isinstance(v, Node) else self.node(v), 1, 1)(value)

    def objects(self, value: Any) -> Any:
        """Returns numbers or an abstract array as an array of nodes."""
        if isinstance(value, Elements):
            return value._a
        if isinstance(value, (list, tuple)) and holds(value):
            return np.stack([self.objects(v) for v in value])
        return boxed(self._lift(np.asarray(value)))

    # Refusals

    def locate(self) -> None:
        """Remembers the line of the user's function that is at work."""
        frame = sys._getframe(2)
        library: tuple[str, int] | None = None
        while frame is not None:
            file = frame.f_code.co_filename
            if frame.f_code in ENTRIES:
                break
            if not file.startswith((NUMPY, HERE, "<frozen", "<__array_function__")):
                if not file.startswith(LIBRARY):
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


def boxed(value: Any) -> Any:
    """An array of objects, 0-dimensional too."""
    if isinstance(value, np.ndarray):
        return value
    out = np.empty((), dtype=object)
    out[()] = value
    return out


def holds(value: Any) -> bool:
    """Tells whether lists, at any depth, hold an abstract array."""
    if isinstance(value, (list, tuple)):
        return any(holds(v) for v in value)
    return isinstance(value, Elements)
