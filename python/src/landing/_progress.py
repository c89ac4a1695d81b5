"""Live progress: a tqdm bar in terminals and notebooks; a plain line where tqdm is not installed."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

from ._process import Event


def watched() -> bool:
    """Tells whether anybody sees a bar: a terminal or a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    ip = shell.get_ipython() if shell is not None else None
    return ip is not None and "IPKernelApp" in getattr(ip, "config", {})


class Bar:
    """A bar of what is done, fed with the binary's events.

    Args:
        what: said before the bar.
        unit: of what is counted.
        show: None: where somebody watches.
        offset, total: of a job that is cut in several calls: what was done before, and in all.
    """

    def __init__(self, what: str, unit: str, show: bool | None, *, offset: int = 0, total: int | None = None) -> None:
        self.what, self.unit, self.total = what, unit, total
        self.offset = offset
        self.shown = watched() if show is None else show
        self.bar: Any = None

    def __call__(self, event: Event) -> None:
        if not self.shown or event["event"] != "progress":
            return
        if "done" not in event:
            if self.bar is not None:
                self.bar.set_postfix_str(str(event.get("message", "")))
            return
        total = self.total if self.total is not None else (event.get("of") or None)
        if self.bar is None:
            self.bar = _new(self.what, self.unit, total)
        if total != self.bar.total:
            self.bar.total = total
            self.bar.refresh()
        numbers = {k: event[k] for k in ("loss", "violation") if event.get(k) is not None}
        if numbers:
            self.bar.set_postfix({k: f"{v:.3g}" for k, v in numbers.items()}, refresh=False)
        self.bar.update(self.offset + event["done"] - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _new(what: str, unit: str, total: int | None) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of notebooks without ipywidgets: the bar is text there
            from tqdm.auto import tqdm
    except ImportError:
        return Plain(what, unit, total)
    return tqdm(desc=what, unit=unit, total=total, mininterval=0.1)


class Plain:
    """What is needed of tqdm, as one line that changes."""

    def __init__(self, what: str, unit: str, total: int | None) -> None:
        self.what, self.unit, self.total, self.n = what, unit, total, 0
        self.told, self.last = "", 0.0

    def set_postfix(self, numbers: dict[str, str], refresh: bool = True) -> None:
        self.set_postfix_str(", ".join(f"{k}={v}" for k, v in numbers.items()))

    def set_postfix_str(self, text: str) -> None:
        self.told = text

    def update(self, more: int) -> None:
        self.n += more
        if time.monotonic() - self.last > 0.2 or self.n == self.total:
            self.refresh()

    def refresh(self) -> None:
        self.last = time.monotonic()
        of = "" if self.total is None else f"/{self.total}"
        sys.stderr.write(f"\r{self.what}: {self.n}{of} {self.unit} {self.told}\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        self.refresh()
        sys.stderr.write("\n")
