"""Finds the landing program and makes sure that it is the one of this package."""

from __future__ import annotations

import importlib
import json
import os
import stat
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from ._errors import BinaryError

try:
    _built: Any = importlib.import_module(f"{__package__}._built")  # written when a wheel is built
except ImportError:  # a checkout
    _built = None
VERSION: str = getattr(_built, "VERSION", "0.0.0")
BINARY_VERSION: str = getattr(_built, "BINARY_VERSION", "")

__all__ = ["VERSION", "binary"]

_PACKAGED = Path(__file__).parent / "_bin" / ("landing.exe" if os.name == "nt" else "landing")


def binary(verify: bool = True) -> str:
    """Returns the path of the program: of LANDING_BINARY, or else that in the wheel.

    Raises:
        BinaryError: it is not there, may not be run, or (verify) is of another version than this package.
    """
    given = os.environ.get("LANDING_BINARY")
    path = Path(given).absolute() if given else _PACKAGED  # a bare name would be looked for in PATH
    try:
        info = path.stat()
    except OSError as e:
        if given:
            raise BinaryError(f"LANDING_BINARY is {given!r}: {e.strerror or e}", file=given) from None
        raise BinaryError(
            f"this installation holds no landing program ({_PACKAGED}): install a wheel for your platform, or build one "
            "with `go build ./cmd/landing` and name it in the environment variable LANDING_BINARY",
            file=str(_PACKAGED),
        ) from None
    if not stat.S_ISREG(info.st_mode):
        raise BinaryError(f"{path} is no file; expected the landing program", file=str(path))
    if os.name != "nt" and not os.access(path, os.X_OK):
        try:  # some installers drop the permission
            path.chmod(info.st_mode | 0o111)
        except OSError as e:
            raise BinaryError(f"{path} may not be executed ({e.strerror}): chmod +x it", file=str(path)) from None
    if verify:
        _verify(str(path), info.st_mtime_ns, info.st_size)
    return str(path)


@lru_cache(maxsize=8)
def _verify(path: str, _modified: int, _size: int) -> None:
    """Asks a program for its version, once for each program.

    A checkout of the sources has no version to compare with.
    """
    try:
        told = subprocess.run(
            [path, "version", "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
        version = json.loads(told.stdout)["version"] if told.returncode == 0 else ""
    except OSError as e:
        raise BinaryError(f"{path} cannot be run: {e.strerror or e}. Is it of another platform?", file=path) from e
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        version = ""
    if not isinstance(version, str) or not version:
        raise BinaryError(f"{path} does not tell a version: it is no landing program, or one too old", file=path)
    if BINARY_VERSION and version != BINARY_VERSION and not os.environ.get("LANDING_ANY_VERSION"):
        raise BinaryError(
            f"{path} is landing {version}, and this package needs {BINARY_VERSION}: reinstall the package, or unset "
            "LANDING_BINARY. LANDING_ANY_VERSION=1 takes it as it is.",
            file=path,
        )
