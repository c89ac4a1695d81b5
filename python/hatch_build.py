"""Builds the landing program into the wheel, for the platform that LANDING_TARGET names.

LANDING_TARGET is GOOS/GOARCH, by default that of the machine; LANDING_VERSION the version, by default that of the
commit's tag; LANDING_PREBUILT a program to take instead of building one, which this machine must be able to run.
Beside the program lie its licences. Needs Go and the repository around this folder; no network where Go's modules are at hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
MODULE = "github.com/landing-diffusion/landing"

# A static binary needs no libc: one wheel is for glibc and musl. macOS 12 is the oldest that Go 1.26 runs on.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


def _git(*arguments: str) -> str:
    """Returns what git says, nothing where there is no git or no repository."""
    try:
        told = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""


def version() -> str:
    """Returns LANDING_VERSION, or that of the commit's tag v1.2.3, or 0.0.0.dev0 with the commit."""
    given = os.environ.get("LANDING_VERSION", "")
    if not given:
        given = _git("describe", "--tags", "--exact-match", "--match", "v*")
    if given:
        return given.removeprefix("v")
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = ".changed" if _git("status", "--porcelain") else ""
    return "0.0.0.dev0" + (f"+g{commit}{changed}" if commit else "")


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # a checkout: LANDING_BINARY names a program
            return
        if not (ROOT / "go.mod").is_file():
            raise RuntimeError(f"{ROOT} holds no go.mod: wheels are built in a checkout of the repository")
        target = os.environ.get("LANDING_TARGET") or _go("env", "GOOS") + "/" + _go("env", "GOARCH")
        if target not in PLATFORMS:
            raise RuntimeError(f"LANDING_TARGET is {target!r}; expected one of {', '.join(PLATFORMS)}")
        built = self.metadata.version
        name = "landing.exe" if target.startswith("windows/") else "landing"
        self.folder = tempfile.TemporaryDirectory(prefix="landing-wheel-")
        binary, says = Path(self.folder.name) / name, f"v{built}"
        if given := os.environ.get("LANDING_PREBUILT"):
            shutil.copyfile(given, binary)
            binary.chmod(0o755)
            told = subprocess.run([str(binary), "version", "--json"], capture_output=True, check=True)
            says = json.loads(told.stdout)["version"]
        else:
            _build(binary, target, says)
        about = Path(self.folder.name) / "_built.py"
        about.write_text(f'"""Written when the wheel was built."""\n\nVERSION = "{built}"\nBINARY_VERSION = "{says}"\n')
        build_data["tag"] = f"py3-none-{PLATFORMS[target]}"
        build_data["pure_python"] = False
        build_data["force_include"].update({
            str(binary): f"landing/_bin/{name}",
            str(about): "landing/_built.py",
            str(ROOT / "LICENSE"): "landing/LICENSE",
            str(ROOT / "NOTICE"): "landing/NOTICE",
            str(ROOT / "THIRD_PARTY_LICENSES"): "landing/THIRD_PARTY_LICENSES",
        })

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


def _go(*arguments: str) -> str:
    told = subprocess.run(["go", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise RuntimeError(f"go {' '.join(arguments)}: {told.stderr.strip()}")
    return told.stdout.strip()


def _build(binary: Path, target: str, version: str) -> None:
    """Compiles the command: the same bytes for a commit, whatever machine and folder."""
    system, machine = target.split("/")
    values = {"released": version}
    if commit := _git("rev-parse", "HEAD"):
        values["commit"] = commit
        values["committed"] = re.sub(r"[+-]00:00$", "Z", _git("log", "-1", "--format=%cI"))
    flags = " ".join(["-s -w", *(f"-X {MODULE}/experiment/run.{k}={v}" for k, v in values.items())])
    # The compiler may not fuse multiply-adds, so that arm64 rounds as x86-64 does.
    build = ["go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-d=fmahash=qn", f"-ldflags={flags}"]
    subprocess.run(
        [*build, "-o", str(binary), "./cmd/landing"],
        cwd=ROOT,
        env={**os.environ, "GOOS": system, "GOARCH": machine, "CGO_ENABLED": "0", "GOFLAGS": ""},
        check=True,
    )
    binary.chmod(0o755)
