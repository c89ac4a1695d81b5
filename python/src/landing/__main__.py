"""The command `landing`: the binary in place of this process."""

from __future__ import annotations

import os
import subprocess
import sys

from ._binary import binary
from ._errors import BinaryError


def main() -> int:
    try:
        path = binary(verify=False)
    except BinaryError as e:
        print(f"landing: {e}", file=sys.stderr)
        return 1
    command = [path, *sys.argv[1:]]
    if os.name != "nt":
        os.execv(path, command)
    # Windows has no exec. Ctrl-C goes to both: the binary decides what comes of it.
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())
