"""The tutorials' commands run as printed, in a smaller size, and print the lines that the pages show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from landing import _binary

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").glob("tutorial-*.md"))
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
# A reduced training may be judged otherwise, has other epochs, and may have no held-out loss yet.
VARIES = ("good:", "usable:", "not good", "not decided", "epoch", "best:", "next:", "…", "landing", "trained", "stopped")


def reduced(command: str, trainings: int) -> str:
    """The same command with one or two more epochs in each training, and at most 300 samples."""
    command = re.sub(r"--for \S+|--set train.epochs=\d+", f"--for 5m --set train.epochs={2 * trainings}", command)
    return re.sub(r"(-n) (\d+)", lambda m: f"{m[1]} {min(int(m[2]), 300)}", command)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_tutorial(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"^(?:import|from) (rdkit)", text, re.M):
        pytest.importorskip(module)
    os.symlink(_binary.binary(), folder / "landing")
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    printed, commands, trainings, end = "", 0, 0, 0
    for block in BLOCK.finditer(text):
        kind, body = block["kind"], block["text"]
        names = re.findall(r"`([\w.-]+\.py)`", text[end : block.start()])
        end = block.end()
        if kind == "python" and names:
            (folder / names[-1]).write_text(body, encoding="utf-8")
        elif kind == "sh":
            printed = ""
            for command in body.replace("\\\n", " ").splitlines():
                trainings += command.startswith("landing train")
                smaller = reduced(command, trainings)
                done = subprocess.run(["bash", "-c", smaller], cwd=folder, env={**os.environ, "PATH": path},
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
                assert done.returncode in (0, 4), f"{page.name}: {command}\n{done.stdout}"
                printed += done.stdout
                commands += 1
        elif kind == "text":
            for line in body.splitlines():
                first = line.split("  ")[0]
                first = re.split(r"[\d(]", first)[0].strip()
                if line[:1] not in ("", " ") and not first.startswith(VARIES):
                    assert first in printed, f"{page.name}: no line begins with {first!r} in\n{printed}"
    assert commands >= 3, f"{page.name}: only {commands} commands"
