"""What the program found, as typed records and as tables for notebooks."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from ._errors import arguments

__all__ = ["CheckFinding", "Finding", "Grade", "Metric", "Remedy", "Verdict", "record", "table"]

Record = TypeVar("Record")
Grade = Literal["good", "usable", "not good", "not decided"]


def record(kind: type[Record], told: Mapping[str, Any]) -> Record:
    """Returns a record of an object that the program printed; a later program may print more."""
    known = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    texts = {k: arguments(told[k]) for k in ("message", "says") if k in told}
    return kind(**{k: v for k, v in {**told, **texts}.items() if k in known and v is not None})


@dataclasses.dataclass(frozen=True)
class CheckFinding:
    """What one check says of one component. key and value are those of the problem that it is about, if there is one."""

    check: str
    status: Literal["SKIP", "PASS", "WARN", "FAIL"]
    message: str
    component: str = ""
    numbers: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    key: str | None = None
    value: Any = None


@dataclasses.dataclass(frozen=True)
class Metric:
    """What was logged of an epoch ("epoch"), an evaluation ("evaluation"), a held-out distance ("held-out") or others.

    Fields that a kind does not have are None. `landing dev schema metrics` describes all.
    """

    kind: str
    epoch: int | None = None
    seconds: float | None = None
    loss: float | None = None
    last_loss: float | None = None
    grad_norm: float | None = None
    rate: float | None = None
    worst: list[float] | None = None
    failed: int | None = None
    broken: int | None = None
    rows: int | None = None
    simulated: float | None = None
    jsd: float | None = None
    violation: float | None = None
    updates: int | None = None
    distance: float | None = None
    noise: float | None = None
    fault: str | None = None


@dataclasses.dataclass(frozen=True)
class Remedy:
    """What to do about a finding: command is its command line, call the same in Python."""

    command: str = ""
    verb: str = ""
    run: str = ""
    problem: str = ""
    data: str = ""
    variant: str = ""
    settings: list[str] = dataclasses.field(default_factory=list)
    seconds: float | None = None

    @property
    def call(self) -> str:
        """What to call, where `run` is the run; the command line if this package has no such function."""
        f = {"train": "landing.train", "go_on": "run.resume", "evaluate": "run.evaluate", "report": "run.evaluate",
             "generate": "run.generate", "check": "landing.check"}.get(self.verb)
        if f is None or self.variant:
            return self.command
        settings = dict(s.split("=", 1) for s in self.settings)
        told = [repr(file) for file in (self.problem, self.data) if file]
        told += [f"settings={settings}"] * bool(settings) + [f"budget={self.seconds:g}"] * bool(self.seconds)
        return f"{f}({', '.join(told)})"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a verdict found: docs/verdict.md lists the codes. remedy is None where nothing helps."""

    code: str
    severity: Literal["remark", "fault"]
    says: str
    effect: float | None = None
    unit: str = ""
    threshold: float | None = None
    p_value: float | None = None
    share: float | None = None
    remedy: Remedy | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The verdict on samples: its grade, what was found, and what limits the result where nothing more is offered."""

    grade: Grade
    findings: list[Finding]
    limits: str = ""


_COLOURS = {"PASS": "#1a7f37", "WARN": "#9a6700", "FAIL": "#cf222e", "SKIP": "#6e7781"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns an HTML table; cells that are a status have its colour beside its word."""

    def cell(text: str, tag: str = "td") -> str:
        style = "text-align:left;vertical-align:top"
        if text in _COLOURS:
            style += f";font-weight:600;color:{_COLOURS[text]}"
        return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'

    out = ["<table>"]
    if head:
        out.append("<thead><tr>" + "".join(cell(h, "th") for h in head) + "</tr></thead>")
    out.append("<tbody>")
    out += ["<tr>" + "".join(cell(str(c)) for c in row) + "</tr>" for row in rows]
    out.append("</tbody></table>")
    return "".join(out)
