#!/usr/bin/env python3
"""Follows a problem of data and set from its file to the first checkpoint: house-way.py [CHECKOUT [COMMIT]]

A copy of the checkout writes down each function that it enters with the problem in hand: one that takes the problem, a
part of it, or a value that has it (HOLDS), and each that looks a kind up by its name (NAMES). A stop is a file that is
entered by such a call from another file. A climb is a stop on a higher floor of docs/architecture.md.
"""
import math, os, re, subprocess, sys, tempfile
from pathlib import Path

HOLDS = {"problem": "Problem Condition Potential Network Train Generate Process Observe origins asked Settings Setting",
         "sets": "Set", "settle": "Case Settled", "experiment": "Loaded Run training", "judge": "Reference"}
NAMES = {"methods/methods.go": "Of", "networks/networks.go": "Of",
         "kinds/kinds.go": "Of", "sets/registry.go": "find"}
TRACE = """package %s

import "os"

var wayFile, _ = os.OpenFile(os.Getenv("LANDING_WAY"), os.O_APPEND|os.O_WRONLY, 0)

func way(at string) {
	_, _ = wayFile.WriteString(at + "\\n")
	if at == "experiment/run/checkpoint.go Save" {
		os.Exit(0)
	}
}
"""


def holds(signature, package):
    for owner, types in HOLDS.items():
        prefix = "" if package == owner else owner + r"\."
        if re.search(r"(?<![\w.])%s(%s)\b(?!\()" % (prefix, types.replace(" ", "|")), signature):
            return True
    return False


def instrument(root):
    for path in sorted(root.glob("**/*.go")):
        at = path.relative_to(root)
        if path.name.endswith("_test.go") or at.parts[0] in ("tools", "examples", "python"):
            continue
        lines = path.read_text().split("\n")
        package = next(line.split()[1] for line in lines if line.startswith("package "))
        out, seen, i = [], False, 0
        while i < len(lines):
            out.append(lines[i])
            if lines[i].startswith("func ") and not re.search(r"\{.*\}$", lines[i]):
                signature = lines[i]
                while not lines[i].endswith("{") and lines[i].strip() != "":
                    i += 1
                    out.append(lines[i])
                    signature += lines[i]
                m = re.match(r"func (?:\(([^)]*)\) )?(\w+)(?:\[[^\]]*\])?(.*)", signature)
                receiver, name, rest = m.group(1) or "", m.group(2), m.group(3)
                depth, end = 0, 0
                for end, c in enumerate(rest):
                    depth += {"(": 1, ")": -1}.get(c, 0)
                    if depth == 0:
                        break
                looks = any(str(at).endswith(f) and name in n.split() for f, n in NAMES.items())
                saves = str(at.parent) == "experiment/run" and name == "Save" and "Checkpoints" in receiver
                if saves or looks or holds(receiver + " " + rest[:end], package):
                    seen = True
                    where = "experiment/run/checkpoint.go Save" if saves else f"{at} {name}"
                    out.append(f'\tway("{where}")')
            i += 1
        if seen:
            path.write_text("\n".join(out))
            (path.parent / "zz_way.go").write_text(TRACE % package)


def floors(root):
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (root / "docs/architecture.md").read_text(), re.M)
    return {folder: int(floor) for floor, folder in rows}


def main():
    source, revision = (sys.argv + [".", "HEAD"][max(0, len(sys.argv) - 1):])[1:3]
    with tempfile.TemporaryDirectory() as folder:
        root, work = Path(folder, "copy"), Path(folder, "work")
        root.mkdir(), work.mkdir()
        files = subprocess.run(["git", "-C", source, "archive", revision], check=True, capture_output=True).stdout
        subprocess.run(["tar", "x", "-C", root], input=files, check=True)
        floor = floors(root)
        instrument(root)
        subprocess.run(["go", "build", "-o", work / "landing", "./cmd/landing"], cwd=root, check=True)
        (work / "way").touch()
        rows = "".join(f"{math.cos(i * i):.17g},{math.sin(i * i):.17g}\n" for i in range(400))
        (work / "circle.csv").write_text("x,y\n" + rows)
        (work / "plain.yaml").write_text("data: {path: circle.csv}\nset: {kind: sphere, dim: 2}\n")
        subprocess.run([work / "landing", "train", "plain.yaml"], cwd=work, check=True,
                       env=dict(os.environ, LANDING_WAY=str(work / "way")))
        calls = [line.split() for line in (work / "way").read_text().splitlines()]
    stops, climbs, last = 0, 0, ""
    for file, name in calls:
        if file == last:
            print(",", name, end="")
            continue
        up = last and floor[file.split("/")[0]] > floor[last.split("/")[0]]
        stops, climbs, last = stops + 1, climbs + bool(up), file
        print(f"\n{stops:3} {'up' if up else '  '} {file}: {name}", end="")
    print(f"\n{stops} stops, {climbs} climbs, {len({file for file, _ in calls})} files, {len(calls)} calls")


main()
