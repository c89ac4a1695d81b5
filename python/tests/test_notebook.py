"""The example notebook runs from top to bottom: in a kernel where there is one, else cell by cell."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "torus.ipynb"
SMALL = ('budget="90s"', 'settings={"train.epochs": 3, "network.width": 16, "network.layers": 1}')


def test_notebook(folder: Path) -> None:
    """With LANDING_UPDATE=1 at full size: its outputs become those of the committed notebook."""
    try:
        import ipykernel  # noqa: F401
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        pytest.skip("nbclient and ipykernel are not installed: test_cells runs the cells")
    book = nbformat.read(NOTEBOOK, as_version=4)
    written = dict(book.metadata)
    if not (update := os.environ.get("LANDING_UPDATE") == "1"):
        for c in book.cells:
            c.source = c.source.replace(*SMALL)
            c.pop("outputs", None) if c.cell_type != "code" else c.update(outputs=[])
    book.metadata.kernelspec.name = "python3"
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [o for c in book.cells if c.cell_type == "code" for o in c.outputs]
    shown = [set(o.get("data", {})) for o in outputs]
    streams = "".join(o.get("text", "") for o in outputs)
    assert "training" in streams or any("application/vnd.jupyter.widget-view+json" in s for s in shown), "no bar is shown"
    assert any("image/png" in s for s in shown), "no picture is shown"
    assert sum("text/html" in s for s in shown) >= 2, "no table is shown"
    assert "line 2 of a cell: `if x[0] > 0:`" in streams
    if update:
        for c in book.cells:
            c.metadata.clear()
            if c.cell_type == "code":
                c.outputs = [o for o in c.outputs if o.get("name") != "stderr"]  # bars
        for kinds in (o.get("data", {}) for o in outputs):
            kinds.update({kind: text.replace(f"{folder}/", "") for kind, text in kinds.items()})  # no paths of a machine
        book.metadata = nbformat.from_dict(written)
        nbformat.write(book, NOTEBOOK)


@pytest.mark.filterwarnings("ignore::landing.LandingWarning")  # the small training is not good
def test_cells(folder: Path) -> None:
    if "nbclient" in sys.modules:
        pytest.skip("test_notebook runs them in a kernel")
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict = {"__name__": "__main__"}
    for i, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]).replace(*SMALL), f"{NOTEBOOK.name}[{i}]", "exec"), names)
    assert names["samples"].shape == (2000, 3)


def test_it_is_committed_with_outputs() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
    assert all("image/png" in str(c["outputs"]) for c in cells[-2:]) and "verdict" in str(cells[-3]["outputs"])
    assert "/tmp/" not in text and "/home/" not in text and len(text) < 700_000
    assert any(SMALL[0] in "".join(c["source"]) for c in cells)
