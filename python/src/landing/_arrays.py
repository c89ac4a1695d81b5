"""Arrays on their way to the binary and back: NPY files in a folder of their own, never pickles."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import ArrayError

Array = npt.NDArray[Any]

MOST = 1 << 28  # numbers of a data file that the binary reads
_EXACT = 1 << 53


def numbers(data: Any, what: str, *, least: int = 2, width: int | None = None) -> Array:
    """Returns data as rows of finite float32 or float64 numbers, n×… in C order.

    Args:
        data: an array, or what NumPy makes one of: lists, frames of pandas, tensors on the CPU.
        what: its name in messages.
        least: how many dimensions it has at least.
        width: numbers of a row, if that is known.

    Raises:
        ArrayError: it holds objects, text or complex numbers, is empty, has another shape, or a
            number in it is not finite: which.
    """
    if callable(data):
        raise ArrayError(f"{what} is a function; expected an array of numbers")
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise ArrayError(f"{what} has masked elements; expected all of them: leave out their rows")
    try:
        a = np.asarray(data)
    except Exception as e:  # ragged lists, foreign types: whatever their conversion raises
        raise ArrayError(f"{what} is no array of numbers: {e}") from e
    if a.dtype == object:
        odd = next((x for x in a.ravel() if not isinstance(x, (int, float, np.number))), None)
        told = f", such as {odd!r:.60}" if odd is not None else ""
        raise ArrayError(f"{what} is an array of objects{told}; expected numbers: {what}.astype(float) makes them")
    if a.dtype.kind not in "fiu":
        raise ArrayError(f"{what} has type {a.dtype}; expected floating-point numbers or integers")
    if a.ndim < least:
        hint = f": {what}.reshape(-1, 1) makes {a.size} points of one coordinate" if a.ndim == 1 and a.size else ""
        raise ArrayError(f"{what} has shape {a.shape}; expected a row for each point, n×d{hint}")
    if a.size == 0:
        raise ArrayError(f"{what} has shape {a.shape}: it holds nothing")
    if width is not None and a.size // len(a) != width:
        raise ArrayError(f"{what} has shape {a.shape}; expected rows of {width} numbers")
    if a.size > MOST:
        raise ArrayError(f"{what} has {a.size} numbers; expected at most {MOST}")
    if a.dtype.kind in "iu" and (a.max() > _EXACT or a.min() < -_EXACT):
        raise ArrayError(f"{what} has integers beyond 2^53, which floating-point numbers round: {what}.astype(float) does")
    a = np.ascontiguousarray(a, dtype="<f4" if a.dtype.str[1:] == "f4" else "<f8")
    finite = np.isfinite(a)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        more = int(finite.size - finite.sum()) - 1
        told = f", and so are {more} more" if more else ""
        raise ArrayError(f"{what}{list(at)} is {a[at]}{told}; expected finite numbers")
    return a


def names(data: Any) -> list[str] | None:
    """Returns the names of a frame's columns; None of arrays and of frames whose columns are numbered."""
    found = getattr(data, "columns", None)
    try:
        out = [] if found is None or callable(found) else list(found)
    except TypeError:
        return None
    return out if out and all(isinstance(name, str) for name in out) else None


def coordinates(problem: str) -> list[str]:
    """Returns the names of coordinates in the text of a problem; none if it has none."""
    named = re.search(r"""\bnames["']?:\s*(\[[^]]*]|(?:\n\s*-[^\n]*)+)""", problem)
    return [n.strip(" -\"'") for n in re.split(r"[,\n]", named[1].strip("[] \n")) if n.strip()] if named else []


def chosen(columns: list[str], problem: str, what: str) -> list[str]:
    """Returns the columns of a frame that a problem reads, in its order: coordinates with names, then a condition.

    Coordinates have the names of set.names; those of places are latitude and longitude.

    Raises:
        ArrayError: it has some of the coordinates, and not all.
    """
    lower = [name.lower() for name in columns]
    places = coordinates(problem)
    if re.search(r"""kind["']?:\s*["']?earth""", problem) and "latitude" in lower and "longitude" in lower:
        places = [columns[lower.index(name)] for name in ("latitude", "longitude")]
    missing = [name for name in places if name not in columns]
    if missing and len(missing) < len(places):
        raise ArrayError(f"{what} has no column {missing[0]!r}, a coordinate of the problem; its columns are {', '.join(columns)}")
    if not places or missing:
        return columns
    given = problem.partition("condition")[2]
    return places + [n for n in columns if n not in places and re.search(rf"\b{re.escape(n)}\b", given)]


def table(data: Any, columns: list[str], what: str) -> bytes:
    """Returns a frame as a CSV file with its names, numbers to the last bit."""
    twice = {name for name in columns if columns.count(name) > 1}
    if twice:
        raise ArrayError(f"{what} has two columns named {min(twice)!r}; expected one of each name")
    if len(data) * len(columns) > MOST:
        raise ArrayError(f"{what} has {len(data) * len(columns)} numbers; expected at most {MOST}")
    if not len(data):
        raise ArrayError(f"{what} has shape {(0, len(columns))}: it holds nothing")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(numbers(data[name], f"{what}[{name!r}]", least=1).tolist() for name in columns)))
    return out.getvalue().encode()


def ordered(data: Any, problem: str, what: str) -> Any:
    """Returns a frame with the columns that a problem reads alone, in its order; anything else as it is."""
    columns = names(data)
    return data if columns is None else data[chosen(columns, problem, what)]


def stored(data: Any, what: str, folder: Path, name: str, problem: str) -> Path:
    """Keeps an array, or a frame with its names, under folder, by its content: the same is kept once.

    A run needs its data again when it is evaluated or goes on. problem is the text of the problem that reads it.
    """
    columns = names(data)
    if columns is None:
        return keep(numbers(data, what), folder, name)
    text = table(data, chosen(columns, problem, what), what)
    path = _place(folder, name, hashlib.sha256(text), ".csv")
    if not path.exists():
        write(path, text)
    return path


def write(path: Path, a: Array | bytes) -> None:
    """Writes an NPY file, or bytes as they are, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(part, "xb") as f:
            if isinstance(a, bytes):
                f.write(a)
            else:
                np.save(f, a, allow_pickle=False)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read(path: Path) -> Array:
    """Reads an NPY file of the binary's."""
    a: Array = np.load(path, allow_pickle=False)
    return a


def keep(a: Array, folder: Path, name: str) -> Path:
    """Keeps an array under folder, by its content."""
    digest = hashlib.sha256(str((a.shape, a.dtype.str)).encode())
    digest.update(a.data)  # in C order
    path = _place(folder, name, digest, ".npy")
    if not path.exists():
        write(path, a)
    return path


def _place(folder: Path, name: str, digest: Any, extension: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", name)  # not a path
    return folder / f"{name}-{digest.hexdigest()[:16]}{extension}"
