"""Motions of arms from their published files to a table: landing by the commands of `landing init`, the planner, OMPL.

    pip install pin ompl example-robot-data rtb-data numpy
    python tools/bench/rivals/arm_motions.py FOLDER --landing ./landing ARM.urdf … [--for 3m] [--steps draft,train,…]

Each arm gets a folder in FOLDER. draft runs `landing init`, and the command that it prints plans 2000 motions and 100
unseen pairs of places. train runs `landing train` once more at each call. generate makes three motions of each pair.
judge reads them by Pinocchio: velocities, accelerations, limits, ends and the room of the problem's spheres, at the points
of the file and between them. meshes measures the room of the published meshes at these points. rivals plans 300 other
motions with the planner of landing, by the same command. OMPL's RRT-Connect, with its simplification, goes between the
ends of the first motion of each pair, for the same spheres and margin, by Pinocchio's collision checks. Times are
processor milliseconds of one motion.
"""

import argparse
import json
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pinocchio_paths import MOST, Arm, Solids, measured, numbers


def run(folder, *command):
    """Runs a command in a folder; returns what it printed and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if p.returncode:
        sys.exit(f"{shlex.join(map(str, command))}: exit {p.returncode}\n{p.stderr}{p.stdout}")
    return p.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def planning(folder):
    """The command that init printed, without the name of the program."""
    line = re.search(r"landing (make arm .*)", (folder / "problem.yaml").read_text())
    return shlex.split(line.group(1))


def draft(a, folder, urdf):
    folder.mkdir(parents=True)
    run(folder, a.landing, "init", urdf.resolve())
    run(folder, a.landing, *planning(folder), "--unseen", 100, "--unseen-output", "unseen.csv")


def train(a, folder, _):
    runs = sorted((folder / "runs").glob("*")) if (folder / "runs").exists() else []
    of = [runs[-1].relative_to(folder)] if runs else ["problem.yaml"]
    run(folder, a.landing, "train", *of, "--for", a.budget, "--workers", 2,
        *(["--set", "train.clock=processor"] if not runs else []))


def problem(folder):
    """What of the drafted problem the judges need: base, tip, obstacles, margin and spheres, as their flags have them."""
    text = (folder / "problem.yaml").read_text()
    word = lambda key: re.search(rf'^  {key}: "?([^"\n#]*)"?', text, re.M).group(1).strip()
    three = r"\[([-0-9.e, ]+)\], radius: ([-0-9.e]+)"
    place = lambda m: ",".join(x.strip() for x in m[0].split(",")) + "," + m[1]
    bodies = [f"{m[0]}:{place(m[1:])}" for m in re.findall(r'\{link: "(.*?)", at: ' + three, text)]
    balls = [place(m) for m in re.findall(r"\{name: ball, sphere: " + three, text)]
    return word("base"), word("tip"), balls, float(word("margin")), bodies


def by_ompl(arm, solids, pairs):
    """Plans between pairs of configurations; returns milliseconds of each, and how many it found."""
    from ompl import base, geometric, util
    util.setLogLevel(util.LogLevel.LOG_ERROR)
    low, high = arm.limits()
    low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    n, at = len(low), [arm.model.joints[j].idx_q for j in arm.turning]
    space, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
    for k in range(n):
        bounds.setLow(k, float(low[k]))
        bounds.setHigh(k, float(high[k]))
    space.setBounds(bounds)
    q, took, found, calls = arm.full.copy(), [], 0, 0

    def free(state):
        nonlocal calls
        calls += 1
        for k in range(n):
            q[at[k]] = state[k]
        return solids.free(q)

    for start, goal in pairs:
        setup = geometric.SimpleSetup(space)
        setup.setStateValidityChecker(free)
        setup.getSpaceInformation().setStateValidityCheckingResolution(0.02 / space.getMaximumExtent())
        ends = []
        for v in (start, goal):
            s = space.allocState()
            for k in range(n):
                s[k] = float(v[k])
            ends.append(s)
        setup.setStartAndGoalStates(*ends)
        setup.setPlanner(geometric.RRTConnect(setup.getSpaceInformation()))
        before = time.process_time()
        solved = setup.solve(5.0)
        if solved and setup.haveExactSolutionPath():
            setup.simplifySolution()
            found += 1
        took.append(1e3 * (time.process_time() - before))
    return np.array(took), found, calls / len(pairs)


def asked(folder, urdf, **more):
    """The motions of a folder and what they are to keep, as the judge takes them."""
    base, tip, balls, _, bodies = problem(folder)
    flags = dict(urdf=str(urdf), base=base, tip=tip, file=str(folder / "motions.json"), ends=str(folder / "unseen.csv"),
                 sphere=balls, capsule=[], box=[], fix=[], upright=[], acceleration="", bodies="", body=bodies, between=2)
    return argparse.Namespace(**flags | more)


def generate(a, folder, urdf):
    made = sorted((folder / "runs").glob("*"))[-1].relative_to(folder)
    out, cpu = run(folder, a.landing, "generate", made, "--condition", "unseen.csv", "-n", 3, "-o", "motions.json", "--json",
                   "--force", "--workers", 1)
    said = json.loads(out)
    n, finished = said["samples"], said["finished"]
    print(f"\n{folder.name}: {n} motions, repaired {finished['repaired']}, drawn again "
          f"{len(finished['replaced_samples'] or [])}; {1e3 * cpu / n:.1f} processor ms each, with repair, motion in time, "
          "file and start of the program")


def judge(a, folder, urdf):
    _, messages, of, bad = measured(asked(folder, urdf))
    print(f"\n{folder.name}: {len(messages)} motions, {(~bad).sum()} can be run\n")
    print("| of each motion | least | median | most | allowed |\n| --- | --- | --- | --- | --- |")
    for name, v in of.items():
        if len(v) and name != "off the task, rad or m":
            allowed = MOST.get(name, ">= 0" if "room" in name else "")
            print(f"| {name} | {v.min():.3g} | {np.median(v):.3g} | {v.max():.4g} | {allowed} |")


def meshes(a, folder, urdf):
    v = measured(asked(folder, urdf, body=[], bodies="meshes", between=1))[2]["least room, m"]
    print(f"\n{folder.name}: room of the published meshes at the points, m: {v.min():.3g}, {np.median(v):.3g}, {v.max():.3g}")


def rivals(a, folder, urdf):
    base, tip, balls, margin, bodies = problem(folder)
    arm, messages = Arm(urdf, base, tip), json.loads((folder / "motions.json").read_text())
    arm.place(np.zeros(len(arm.turning)))
    names = [arm.model.names[j] for j in arm.turning]
    ends = lambda m: [[p["positions"][m["joint_names"].index(k)] for k in names] for p in (m["points"][0], m["points"][-1])]
    took, found, calls = by_ompl(arm, Solids(arm, bodies, [("sphere", numbers(b, 4)) for b in balls], margin),
                                 [ends(m) for m in messages[::3]])
    plan = planning(folder)
    plan[plan.index("-n") + 1], plan[plan.index("-o") + 1] = "300", "planned.npy"
    _, planned = run(folder, a.landing, *plan, "--seed", 7, "--workers", 1)
    record = json.loads((folder / "planned.json").read_text())
    print(f"\n{folder.name}:\n\n| who | found | processor ms a motion |\n| --- | --- | --- |")
    print(f"| landing make arm | {record['paths']} of {record['queries']} | {1e3 * planned / record['paths']:.1f} mean |")
    print(f"| OMPL, no motion in time | {found} of {len(took)} | {took.mean():.1f} mean, {np.median(took):.1f} median, "
          f"{np.quantile(took, 0.99):.1f} p99; {calls:.0f} states looked at |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("urdf", type=Path, nargs="+")
    p.add_argument("--landing", default="landing", type=lambda s: str(Path(s).resolve()) if "/" in s else s)
    p.add_argument("--for", dest="budget", default="3m")
    p.add_argument("--steps", default="draft,train,generate,judge,meshes,rivals")
    a = p.parse_args()
    for step in a.steps.split(","):
        for urdf in a.urdf:
            globals()[step](a, a.folder / urdf.stem, urdf.resolve())


if __name__ == "__main__":
    main()
