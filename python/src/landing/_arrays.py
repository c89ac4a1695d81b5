"""Arrays on their way to the binary and back: NPY files in a folder of their own, never pickles."""

from __future__ import annotations

import hashlib
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


def write(path: Path, a: Array) -> None:
    """Writes an NPY file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(part, "xb") as f:
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
    """Keeps an array under folder, by its content: the same array is kept once.

    A run needs its data again when it is evaluated or goes on.
    """
    digest = hashlib.sha256(str((a.shape, a.dtype.str)).encode())
    digest.update(a.data)  # in C order
    name = re.sub(r"[^\w.-]", "_", name)  # not a path
    path = folder / f"{name}-{digest.hexdigest()[:16]}.npy"
    if not path.exists():
        write(path, a)
    return path
