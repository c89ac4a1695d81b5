"""The example notebook runs from top to bottom: in a kernel where there is one, else cell by cell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "torus.ipynb"


def test_notebook(folder: Path) -> None:
    try:
        import ipykernel  # noqa: F401
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        pytest.skip("nbclient and ipykernel are not installed: test_cells runs the cells")
    book = nbformat.read(NOTEBOOK, as_version=4)
    book.metadata.kernelspec.name = "python3"
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = [set(o.get("data", {})) for c in book.cells if c.cell_type == "code" for o in c.outputs]
    streams = "".join(o.get("text", "") for c in book.cells if c.cell_type == "code" for o in c.outputs)
    assert "training" in streams or any("application/vnd.jupyter.widget-view+json" in s for s in shown), "no bar is shown"
    assert any("image/png" in s for s in shown), "no picture is shown"
    assert sum("text/html" in s for s in shown) >= 2, "no table is shown"


def test_cells(folder: Path) -> None:
    if "nbclient" in sys.modules:
        pytest.skip("test_notebook runs them in a kernel")
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict = {"__name__": "__main__"}
    for i, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}[{i}]", "exec"), names)
    assert names["samples"].shape == (2000, 3)


def test_it_is_committed_without_outputs() -> None:
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert all(not c.get("outputs") and c.get("execution_count") is None for c in book["cells"])
