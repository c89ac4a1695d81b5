"""Builds the wheels: one for each platform, with the binary in it.

    python python/build_wheels.py [--out dist] [--version 1.2.3] [PLATFORM…]

PLATFORM is GOOS/GOARCH, such as linux/amd64; without any all are built. Needs Go, and hatchling in this Python
(`pip install hatchling`), which asks no network. Wheels are the same bytes for a commit and a version. Where twine is
installed, it checks them; `twine upload dist/*.whl` then publishes them.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    if importlib.util.find_spec("hatchling") is None:
        print(f"{sys.executable} has no hatchling: pip install hatchling", file=sys.stderr)
        return 1
    sys.path.insert(0, str(HERE))
    from hatch_build import PLATFORMS, version

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(PLATFORMS))
    parser.add_argument("--out", default="dist", help="folder for the wheels (default dist)")
    parser.add_argument("--version", default=version(), help="of the package and of its binary (default: the tag's)")
    given = parser.parse_args()
    for platform in given.platforms:
        if platform not in PLATFORMS:
            parser.error(f"there is no platform {platform!r}; expected one of {', '.join(PLATFORMS)}")
    out = Path(given.out).absolute()
    wheels: list[Path] = []
    for platform in given.platforms or PLATFORMS:
        env = {**os.environ, "LANDING_TARGET": platform, "LANDING_VERSION": given.version}
        told = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
            cwd=HERE, env=env, capture_output=True, text=True, check=False,
        )
        if told.returncode != 0:
            print(f"{platform}: {told.stdout}{told.stderr}", file=sys.stderr)
            return 1
        wheel = out / Path((told.stdout + told.stderr).strip().splitlines()[-1]).name  # hatchling names what it made
        wheels.append(wheel)
        size = wheel.stat().st_size / 1e6
        print(f"{wheel}  {size:.1f} MB  sha256 {hashlib.sha256(wheel.read_bytes()).hexdigest()}", flush=True)
    if importlib.util.find_spec("twine") is not None:
        return subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, wheels)], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
