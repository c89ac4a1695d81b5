"""Runs the binary: results as JSON on its standard output, events as JSON lines on its standard error.

The binary runs with --attended: it ends, with a checkpoint, when its standard input does. So closing a pipe
interrupts it on every platform, and it does not outlive the interpreter.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import IO, Any

from ._binary import binary
from ._errors import BinaryError, LandingError, LandingWarning, arguments, of

log = logging.getLogger("landing")

Event = dict[str, Any]

INTERRUPTED = 130
OUT_OF_TIME = 6  # --timeout; what was done is kept


def call(
    verb: Sequence[str],
    options: Sequence[str],
    arguments: Sequence[str | os.PathLike[str]] = (),
    *,
    on_event: Callable[[Event], None] | None = None,
    accept: Sequence[int] = (),
) -> tuple[Any, int]:
    """Runs one verb and returns the object that it printed, and its exit code.

    Args:
        verb: such as ["generate"].
        options: flags, each one string, "--out=PATH": a value may then begin with a dash.
        arguments: what stands behind the flags; it may begin with a dash, too.
        on_event: is told of progress and of the run folder, in the calling thread.
        accept: exit codes beside 0 that are no errors.

    Raises:
        LandingError: the binary failed. Its .result is what it printed all the same.
        KeyboardInterrupt: of Ctrl-C, after the binary has kept its work. A second Ctrl-C ends it at once.
    """
    command = [binary(), *verb, "--json", "--progress=json", "--attended", *options, "--"]
    for argument in arguments:
        command.append(os.fspath(argument))
    for part in command:
        if "\0" in part:
            raise LandingError(f"{part!r} has a zero byte: no file or name can", kind="usage")
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True
        )
    except OSError as e:
        raise BinaryError(f"{command[0]} cannot be run: {e.strerror or e}", file=command[0]) from e
    assert process.stdin and process.stdout and process.stderr
    printed: list[bytes] = []
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    readers = [
        threading.Thread(target=_collect, args=(process.stdout, printed), daemon=True),
        threading.Thread(target=_forward, args=(process.stderr, lines), daemon=True),
    ]
    for reader in readers:
        reader.start()

    fault: dict[str, Any] | None = None
    strange: list[str] = []  # lines that are no events: a crash of the runtime
    stopped = False
    try:
        while True:
            try:
                line = _next(lines)
                if line is None:
                    break
                event = _event(line)
                if event is None:
                    strange.append(line.decode("utf-8", "replace").rstrip())
                elif event["event"] == "error":
                    fault = event.get("error")
                elif event["event"] == "message":
                    _tell(event)
                elif on_event is not None:
                    on_event(event)
            except KeyboardInterrupt:
                if stopped:
                    process.kill()
                    raise
                stopped = True
                process.stdin.close()
        for reader in readers:
            reader.join()
        code = process.wait()
    except BaseException:  # what on_event raised, or a warning that is an error
        _stop(process)
        raise
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                stream.close()
            except OSError:  # the pipe is broken, which is why it is closed
                pass

    if stopped or code == INTERRUPTED:
        raise KeyboardInterrupt
    result = _parse(b"".join(printed), code)
    if code == 0 or code in accept:
        return result, code
    if isinstance(result, dict) and set(result) == {"error"}:
        fault, result = fault or result["error"], None
    if fault is not None:
        raise of(fault, result)
    raise BinaryError(_died(command[0], code, strange), code=code, file=command[0])


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the binary as Ctrl-C does, and at once if it takes its time."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(timeout=30)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _next(lines: queue.SimpleQueue[bytes | None]) -> bytes | None:
    """Waits in short turns: on Windows nothing else lets Ctrl-C through."""
    while True:
        try:
            return lines.get(timeout=0.2)
        except queue.Empty:
            continue


def _collect(stream: IO[bytes], into: list[bytes]) -> None:
    into.append(stream.read())


def _forward(stream: IO[bytes], into: queue.SimpleQueue[bytes | None]) -> None:
    for line in stream:
        into.put(line)
    into.put(None)


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _tell(event: Event) -> None:
    """Warnings of the binary become warnings of Python; all else goes to the logger "landing"."""
    message = arguments(str(event.get("message", "")))
    if event.get("level") == "warning":
        warn(message)
    elif not message.startswith("Try: landing "):  # help on flags
        log.info(message)


def warn(message: str) -> None:
    """Warns whoever called this package."""
    warnings.warn(message, LandingWarning, stacklevel=_depth())


def _depth() -> int:
    """Returns the stacklevel at which a warning names the line that called this package."""
    here, depth = os.path.dirname(__file__), 1
    frame = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == here:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    return depth


def _parse(printed: bytes, code: int) -> Any:
    if not printed.strip():
        return None
    try:
        return json.loads(printed)
    except ValueError as e:
        if code != 0:
            return None
        raise BinaryError(f"the binary printed something that is no JSON ({e})") from e


def _died(path: str, code: int, strange: Sequence[str]) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        told = f"{path} was ended by {name}"
        if name == "SIGKILL":
            told += ": perhaps the machine ran out of memory"
    else:
        told = f"{path} failed with exit code {code}"
    unknown = [s for s in strange if "unknown flag" in s]
    if unknown:
        told += ": it is older than this package"
    return told + (":\n" + "\n".join(strange[-20:]) if strange else " and said nothing")
