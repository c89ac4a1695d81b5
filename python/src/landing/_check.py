"""The doctor: what of a problem will work, work badly or fail."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

from . import _arrays
from ._errors import CheckError, called
from ._problem import Problem, settings_options
from ._process import call
from ._results import CheckFinding, record, table
from ._run import Settings, _data, _problem, _whole

__all__ = ["Check", "CheckFinding", "check"]


class Check(Sequence[CheckFinding]):
    """CheckFindings: each has check, component, status (PASS, WARN, FAIL or SKIP), message, and numbers.

    print() shows a table as text, notebooks as HTML. docs/check.md says what is looked at.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self._findings = [record(CheckFinding, f) for f in told["findings"]]

    @overload
    def __getitem__(self, i: int) -> CheckFinding: ...

    @overload
    def __getitem__(self, i: slice) -> list[CheckFinding]: ...

    def __getitem__(self, i: int | slice) -> CheckFinding | list[CheckFinding]:
        return self._findings[i]

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[CheckFinding]:
        return iter(self._findings)

    @property
    def status(self) -> str:
        """The worst status of all."""
        return str(self.told["status"])

    @property
    def ok(self) -> bool:
        """Nothing failed."""
        return self.status != "FAIL"

    def failures(self) -> list[CheckFinding]:
        """The findings that failed."""
        return [f for f in self if f.status == "FAIL"]

    def raise_if_failed(self) -> Check:
        """Returns the check, or raises CheckError if anything failed."""
        failed = self.failures()
        if failed:
            told = "; ".join(f"{f.check}{' of ' + f.component if f.component else ''}: {f.message}" for f in failed)
            raise CheckError(told, code=4, kind="check", result=self)
        return self

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(f.status, f.check, f.component or "", f.message) for f in self]

    def _title(self) -> str:
        t = self.told
        return (f"{self.status}: {t.get('problem', '')}, {t.get('set', '')}, {t.get('equalities', 0)} equalities, "
                f"{t.get('inequalities', 0)} inequalities")

    def __repr__(self) -> str:
        rows = self._rows()
        wide = [max((len(r[i]) for r in rows), default=0) for i in range(3)]
        lines = ["  ".join([*(r[i].ljust(wide[i]) for i in range(3)), r[3]]) for r in rows]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        return table([self._title(), "", "", ""], self._rows())


def check(
    problem: Problem | str | os.PathLike[str],
    data: Any = None,
    *,
    settings: Settings | None = None,
    workers: int = 0,
) -> Check:
    """Examines constraints, data and process of a problem before training.

    Args:
        problem: a Problem, or the path of a problem file.
        data: points, n×d, or the path of a data file; None: what the problem says, or stand-ins that random
            starts reach.
        settings: keys of the problem to replace.
        workers: threads; 0: one a core.

    Returns:
        findings; that some failed is no exception: .ok, .raise_if_failed().

    Raises:
        ProblemError, DataError, ArrayError: problem or data cannot be read.
    """
    options = [f"--workers={_whole(workers, 'workers')}", *settings_options(settings)]
    p = _problem(problem)
    with p._written() as (source, more), TemporaryDirectory(prefix="landing-") as folder:
        if isinstance(data, (str, os.PathLike)):
            options.append(f"--data={_data(data, Path(folder), 'data', p._text())}")
        file = Path(folder) / "data.npy"
        if data is not None and not isinstance(data, (str, os.PathLike)):
            file = _arrays.stored(data, "data", Path(folder), "data", p._text())
            options.append(f"--data={file}")
        try:
            with called(file, "data"):
                told, _ = call(["check"], options + more, [source])
        except CheckError as e:
            if not isinstance(e.result, dict):
                raise
            told = e.result
    return Check(told)
