"""Functions in the tree of a problem become formulas."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._arrays import coordinates
from ._errors import ConstraintError
from ._graph import Graph, Node
from ._trace import trace

__all__ = ["traced", "traced_given"]


def traced(tree: dict[str, Any], dim: int | None = None) -> dict[str, Any]:
    """Returns the tree of a problem with formulas in place of its functions."""
    taken: set[str] = set()
    fresh = _fresh(taken)
    given = (tree.get("condition") or {}).get("columns") or []
    tree = dict(tree)
    tree["set"] = _traced_set(tree["set"], "set", given, fresh, taken, dim)
    inner = tree["set"]
    size = dim or inner.get("dim") or len(inner.get("names") or ()) or (3 if inner.get("kind") == "torus" else None)
    if any(callable(o.get("expr")) for o in tree.get("observe") or ()):
        tree["observe"] = _rows(tree["observe"], "observe", _graph(inner, size, given, "observe"), fresh, own=True)
    potential = tree.get("potential")
    if isinstance(potential, Mapping) and callable(potential.get("expr")):
        g = _graph(inner, size, given, "potential.expr")
        tree["potential"] = {"kind": "formula", **potential, "expr": _single(g, potential["expr"], "potential.expr", fresh)}
    return tree


def traced_given(tree: dict[str, Any], problem: str, dim: int, condition: Sequence[str]) -> dict[str, Any]:
    """Returns constraints that are added at generation (docs/given.md) with formulas in place of functions.

    problem is the text of the run's problem. Its coordinates' names are arguments, and its definitions t1, t2, … stay.
    """
    names = coordinates(problem)
    names = names if len(names) == dim else []
    taken = set(re.findall(r"\bt\d+\b", problem))
    fresh = _fresh(taken)
    parts = {key: tree[key] for key in ("let", "equality", "inequality") if key in tree}
    made = _traced_set({"dim": dim, "names": names or None, **parts}, "given", condition, fresh, taken, dim)
    out = {**tree, **{key: value for key, value in made.items() if key not in ("dim", "names")}}
    for i, entry in enumerate(tree.get("observe") or ()):
        if isinstance(entry, dict) and callable(entry.get("expr")):
            key = f"given.observe[{i}].expr"
            out["observe"] = list(out["observe"])
            g = _graph({"names": names or None}, dim, condition, key)
            out["observe"][i] = {**entry, "expr": _single(g, entry["expr"], key, fresh)}
    return out


def _fresh(taken: set[str]) -> Callable[[], str]:
    """Returns what makes names t1, t2, … for definitions, but for those that are taken."""
    names = (f"t{k}" for k in range(1, sys.maxsize))
    return lambda: next(name for name in names if name not in taken)


def _single(g: Graph, f: Callable[..., Any], key: str, fresh: Callable[[], str]) -> str:
    """Returns a function of one value as a formula with definitions of its own."""
    made = trace(g, f, key)
    if len(made) != 1:
        raise g.refusal(f"the function returns {len(made)} values", "Expected one number", g.entry)
    lets, texts = g.write([made[0][1]], fresh)
    return "".join(f"let {name} = {formula}; " for name, formula in lets.items()) + texts[0]


def _graph(set_: Mapping[str, Any], size: int | None, given: Sequence[str], key: str) -> Graph:
    if not size:
        raise ConstraintError(f"{key} is a function of a point whose number of coordinates is not known: give dim=3, or "
                              "names=['a', 'b', 'c']", key=key)
    names = set_.get("names")
    if names is not None and any("[" in n for n in names):
        names = None
    return Graph(size, names, given)


def _traced_set(set_: Any, at: str, given: Sequence[str], fresh: Callable[[], str], taken: set[str], dim: int | None) -> Any:
    if not isinstance(set_, dict):
        return set_
    out = dict(set_)
    for key in ("product", "all"):
        if isinstance(out.get(key), list):
            out[key] = [_traced_set(s, f"{at}.{key}[{i}]", given, fresh, taken, dim if key == "all" else None)
                        for i, s in enumerate(out[key])]
    lists = [key for key in ("equality", "inequality") if isinstance(out.get(key), list)]
    functions = [c["expr"] for key in lists for c in out[key] if isinstance(c, dict) and callable(c.get("expr"))]
    if not functions:
        return out
    taken.update(out.get("let") or (), out.get("names") or (), given)
    if not out.get("dim") and not out.get("names"):
        if dim:
            out["dim"] = dim
        else:
            out["names"] = _names(functions, given, at)
    if out.get("names"):
        taken.update(out["names"])
    g = _graph(out, out.get("dim") or len(out["names"]), given, at)
    lets = dict(out.get("let") or {})
    for key in lists:
        out[key] = _rows(out[key], f"{at}.{key}", g, fresh, own=False)
        nodes = [c["expr"] for c in out[key] if isinstance(c["expr"], Node)]
        again = dict(zip(map(id, (c for c in out[key] if isinstance(c["expr"], Node))), g.repeats(nodes, key == "equality")))
        out[key] = [c for c in out[key] if not again.get(id(c))]
    # One text for all: what two functions share is written once.
    nodes = [c["expr"] for key in lists for c in out[key] if isinstance(c["expr"], Node)]
    new, texts = g.write(nodes, fresh)
    text = iter(texts)
    for key in lists:
        for c in out[key]:
            if isinstance(c["expr"], Node):
                formula = next(text) + (" = 0" if key == "equality" else " <= 0")
                c["expr"], row = formula, c.pop("_row", "")
                c.setdefault("name", formula if len(formula) < 60 else f"{key}[{row}]")
    if lets | new:
        out["let"] = lets | new
    return out


def _names(functions: Iterable[Callable[..., Any]], given: Sequence[str], at: str) -> list[str]:
    """Returns the coordinates' names that the functions' arguments are, in order."""
    found: dict[str, None] = {}
    for f in functions:
        try:
            parameters = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty]
        except (TypeError, ValueError):
            parameters = []
        mine = [p.name for p in parameters if p.name not in given and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if len(mine) < 2:
            raise ConstraintError(f"{at} has a function of x, and the number of its coordinates is not known: give dim=3, or "
                                  "names=['a', 'b', 'c']", key=f"{at}.dim")
        found.update(dict.fromkeys(mine))
    return list(found)


def _called(f: Any) -> str:
    f = getattr(f, "func", f)
    name = getattr(f, "__name__", type(f).__name__)
    return "" if name == "<lambda>" else str(name)


def _rows(entries: Sequence[Any], at: str, g: Graph, fresh: Callable[[], str], own: bool) -> list[Any]:
    """Returns the entries of a list with one for each value of a function.

    With own they have definitions of their own, as observables do; else their formulas are nodes.
    """
    out: list[Any] = []
    used = {c.get("name") for c in entries if isinstance(c, dict)}
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict) or not callable(entry.get("expr")):
            out.append(entry)
            continue
        f, key = entry["expr"], f"{at}[{i}]"
        if "for" in entry:
            raise ConstraintError(f"{key} has a function and `for`: a function may return an array", key=key)
        made = trace(g, f, key)
        name = entry.get("name") or _called(f)
        if name and not entry.get("name"):
            first = name
            name = next(n for n in (first, *(f"{first}-{k}" for k in range(2, 10_000))) if n not in used)
        used.add(name)
        for suffix, node in made:
            if node.constant and not own:
                if node.value != 0 if at.endswith(".equality") else node.value > 0:
                    raise g.refusal(f"{name or 'the function'}{suffix} is {node.value:g}, whatever x is",
                                    "No point would satisfy it", g.entry)
                continue
            if not own and node.stepped:
                raise g.refusal("the function returns a comparison, or a number that changes in steps",
                                "Return what is 0 where an equality holds, and at most 0 where an inequality holds: "
                                "0.5 - x[0], for x[0] >= 0.5", g.entry)
            row = {**entry, "expr": node}
            if own:
                lets, texts = g.write([node], fresh)
                row |= {"expr": texts[0], "name": (name or f"observable {i + 1}") + suffix}
                if lets:
                    row["let"] = {**(entry.get("let") or {}), **lets}
            elif name:
                row["name"] = name + suffix
            else:
                row["_row"] = i
            out.append(row)
    return out
