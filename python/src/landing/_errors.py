"""What goes wrong, as exceptions that say where and what to do.

The binary prints of each failure one JSON object, {"code", "kind", "file", "line", "key", "message"};
`of` makes the exception of it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class LandingError(Exception):
    """Anything that landing refuses or that fails in it.

    Attributes:
        message: what happened, and mostly what was expected.
        code: the binary's exit code (README.md lists them); 0 if the fault was found in Python.
        kind: the binary's word for it: "problem", "data", "run", "check", …
        file, line, key: where the fault is, as far as known, else None.
        result: what was computed in spite of it, if anything: samples of which too many
            failed, a report of violations.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        kind: str = "",
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        result: Any = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.kind = kind
        self.file = file
        self.line = line
        self.key = key
        self.result = result


class UsageError(LandingError, ValueError):
    """A call that makes no sense, such as a number of samples below 1 (exit code 2)."""


class ProblemError(LandingError, ValueError):
    """A fault in a problem: .key names the key, .file and .line the place if it came from a file."""


class DataError(LandingError, ValueError):
    """A fault in data, a file or a run folder."""


class ArrayError(DataError):
    """An array that cannot be used: its shape, type or a number in it."""


class ConstraintError(ProblemError, TypeError):
    """Something of a problem that cannot be written down, such as a Python function."""


class CheckError(LandingError):
    """Constraints, samples or chains failed a check (exit code 4)."""


class DivergedError(LandingError, ArithmeticError):
    """A simulation or a training left the finite numbers (exit code 5)."""


class BinaryError(LandingError, OSError):
    """The landing program is not there, cannot run, is of another version, or died."""


class LandingWarning(UserWarning):
    """What the binary warns of."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a training, of which everything is kept.

    Attributes:
        run: the run, whose newest checkpoint has what was done; None if it had not begun.
            `run.resume()` goes on with the same bytes as without the interruption.
    """

    def __init__(self, run: Any = None) -> None:
        super().__init__("interrupted" if run is None else f"interrupted; all is kept in {run.path}: run.resume() goes on")
        self.run = run

        if not isinstance(sys.excepthook, _Uncaught):
            sys.excepthook = _Uncaught(sys.excepthook)

    def __reduce__(self) -> tuple[type[Interrupted], tuple[Any]]:
        """Lets worker processes send it: it is made of its run again."""
        return type(self), (self.run,)


class _Uncaught:
    """Ends Python with exit code 130 if nobody catches an Interrupted: by itself it does so for KeyboardInterrupt alone."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook

    def __call__(self, kind: type[BaseException], *more: Any) -> None:
        self.hook(kind, *more)
        if issubclass(kind, Interrupted) and not hasattr(sys, "ps1"):  # which interactive sessions have
            raise SystemExit(130)


# Flags of the program in its messages become arguments of this package; whole command lines stay.
_FLAG = re.compile(r"(landing [a-z]+ [^;:,)\n]*)|--set (?:([\w.]+)=)?([^\s:,;)]+)(:?)|(?<!\w)--([a-z-]+)( [A-Z]{2,})?")
_RENAMED = {"for": "budget", "timeout": "max_time", "number": "n", "hide-condition": "hide_condition", "set": "settings"}


def arguments(text: str) -> str:
    """Returns a message of the program with arguments in place of flags."""
    def named(m: re.Match[str]) -> str:
        command, key, value, prefix, flag, file = m.groups()
        if command:
            return str(command)
        if not flag:
            told = "…" if not key else value if re.fullmatch(r"[-+.\de]+", value) else repr(value)
            return "settings:" if prefix else f"settings={{{key or value!r}: {told}}}"
        name = _RENAMED.get(flag, flag)
        return f"{name}={file.strip()}" if file else "force=True" if flag == "force" else name
    return _FLAG.sub(named, text)


@contextmanager
def called(path: str | os.PathLike[str], name: str) -> Iterator[None]:
    """Gives errors about a file that was made for the binary alone the name that the caller knows it by."""
    try:
        yield
    except LandingError as e:
        text = os.fspath(path)
        place = re.escape(text) + r"(:\d+)?" + ("" if name else ": ?")
        e.message = re.sub(place, lambda m: name + _row(text, m.group(1)), e.message)
        e.args = (e.message,)
        if e.file == text:
            e.file = e.line = None
            e.key = e.key or name or None
        raise


def _row(file: str, line: str | None) -> str:
    """Returns the row of a frame, from 0, that stands on a line of its CSV file, after the names."""
    return f", row {int(line[1:]) - 2}" if line and file.endswith(".csv") and int(line[1:]) > 1 else ""


_BY_CODE: dict[int, type[LandingError]] = {2: UsageError, 4: CheckError, 5: DivergedError}
_BY_KIND: dict[str, type[LandingError]] = {"problem": ProblemError}


def of(fault: Mapping[str, Any], result: Any = None) -> LandingError:
    """Returns the exception of an error object of the binary."""
    code = int(fault.get("code", 1))
    kind = str(fault.get("kind", ""))
    made = _BY_CODE.get(code) or _BY_KIND.get(kind) or (DataError if code == 3 else LandingError)
    text = str(fault.get("message", ""))
    flag = re.match(r"--(?!set\b)([a-z-]+)", text)
    return made(
        arguments(text) or "failed without a message",
        code=code,
        kind=kind,
        file=fault.get("file"),
        line=fault.get("line"),
        key=fault.get("key") or (_RENAMED.get(flag[1], flag[1]) if flag and code == 2 else None),
        result=result,
    )


# Tracebacks name exceptions as users import them.
for _e in [LandingError, *LandingError.__subclasses__(), ArrayError, ConstraintError, LandingWarning, Interrupted]:
    _e.__module__ = "landing"
