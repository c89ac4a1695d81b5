"""Tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

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
