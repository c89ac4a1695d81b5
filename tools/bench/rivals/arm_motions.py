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
    q, took, found, calls, ways = arm.full.copy(), [], 0, 0, []

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
        if solved and setup.haveExactSolutionPath():
            ways.append(np.array([[s[k] for k in range(n)] for s in setup.getSolutionPath().getStates()]))
    return np.array(took), found, calls / len(pairs), ways


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
    took, found, calls, _ = by_ompl(arm, Solids(arm, bodies, [("sphere", numbers(b, 4)) for b in balls], margin),
                                 [ends(m) for m in messages[::3]])
    plan = planning(folder)
    plan[plan.index("-n") + 1], plan[plan.index("-o") + 1] = "300", "planned.npy"
    _, planned = run(folder, a.landing, *plan, "--seed", 7, "--workers", 1)
    record = json.loads((folder / "planned.json").read_text())
    print(f"\n{folder.name}:\n\n| who | found | processor ms a motion |\n| --- | --- | --- |")
    print(f"| landing make arm | {record['paths']} of {record['queries']} | {1e3 * planned / record['paths']:.1f} mean |")
    print(f"| OMPL, no motion in time | {found} of {len(took)} | {took.mean():.1f} mean, {np.median(took):.1f} median, "
          f"{np.quantile(took, 0.99):.1f} p99; {calls:.0f} states looked at |")


def evenly(way, n):
    """n configurations at even distances along a way."""
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    return np.stack([np.interp(np.linspace(0, along[-1], n), along, v) for v in way.T], 1)


def beside(a, folder, urdf):
    base, tip, balls, margin, bodies = problem(folder)
    arm, ball = Arm(urdf, base, tip), numbers(balls[0], 4)
    arm.place(np.zeros(len(arm.turning)))
    solids = Solids(arm, bodies, [("sphere", ball)], margin)
    touch = Solids(arm, bodies, [("sphere", ball)])
    made = sorted((folder / "runs").glob("*"))[-1].relative_to(folder)
    plan, names = planning(folder), (folder / "unseen.csv").read_text().split()
    near = next(k for k, v in enumerate(plan) if v.startswith("--near"))
    rows = lambda f: np.unwrap(arm.angles(np.load(folder / f)[:, :16 * arm.dim].reshape(-1, 16, arm.dim)), axis=1)
    got, cost, lone = {k: [] for k in ("samples", "planner, same posture", "planner by init", "OMPL")}, {}, {}

    def planned(to, pair, start, n):
        v, p = pair.split(","), list(plan)
        at = lambda values: ",".join(f"{x}:{x}" for x in values)
        p = [x for x in p if not x.startswith(("--starts", "--goals", "--near"))] + [
            "--starts=" + at(v[:3]), "--goals=" + at(v[3:]), "--force", "--workers", "1",
            "--seed", str(1 + len(got[to]))]
        p += [plan[near]] if start is None else ["--near=" + ",".join(map(repr, map(float, start))), "--sd=1e-9"]
        p[p.index("-n") + 1], p[p.index("-o") + 1] = str(n), "beside.npy"
        _, cpu = run(folder, a.landing, *p)
        cost[to] = cost.get(to, 0) + cpu
        lone.setdefault(to, []).append(json.loads((folder / "beside.json").read_text())["queries"])
        got[to].extend(rows("beside.npy"))

    for block in range(1, len(names), 20):
        (folder / "block.csv").write_text("\n".join([names[0]] + names[block:block + 20]) + "\n")
        _, cpu = run(folder, a.landing, "generate", made, "--condition", "block.csv", "-n", 3, "-o", "beside.npy", "--force",
                     "--workers", 1)
        cost["samples"] = cost.get("samples", 0) + cpu
        drawn = rows("beside.npy")
        got["samples"].extend(drawn)
        for i, pair in enumerate(names[block:block + 20]):
            for k in range(3):
                planned("planner, same posture", pair, drawn[3 * i + k][0], 1)
            planned("planner by init", pair, None, 3)
        took, _, _, ways = by_ompl(arm, solids, [(q[0], q[-1]) for q in drawn])
        cost["OMPL"] = cost.get("OMPL", 0) + took.sum() / 1e3
        got["OMPL"].extend(evenly(w, 16) for w in ways)
    got["data"] = list(rows(next(p for p in plan if p.endswith(".npy")))[:300])

    def numbers_of(q):
        steps = np.diff(q, axis=0)
        around, least = [], np.inf
        for k in q:
            arm.place(k)
            around.append(arm.pose(arm.tip).translation[:2] - ball[:2])
            least = min(least, touch())
        turn = np.diff(np.unwrap(np.arctan2(*np.array(around).T[::-1])))
        return np.linalg.norm(steps, axis=1).sum(), np.sqrt((np.diff(steps, axis=0)**2).mean()), turn.sum() > 0, 100 * least

    spread = lambda q: np.median([np.mean([np.linalg.norm(q[i + j] - q[i + k]) / 4 for j, k in ((0, 1), (0, 2), (1, 2))])
                                  for i in range(0, len(q) - 2, 3)])
    print(f"\n{folder.name}:\n\n| who | motions, queries | processor ms a motion | joint length, rad | change of step | right of the "
          "ball | room, cm | apart, same ends, rad |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for who, q in got.items():
        v = np.array([numbers_of(k) for k in q])
        asked = sum(lone[who]) if who in lone else 300
        print(f"| {who} | {len(q)}, {asked} | {1e3 * cost.get(who, 0) / len(q):.1f} | {np.median(v[:, 0]):.3f} | "
              f"{np.median(v[:, 1]):.4f} | {v[:, 2].mean():.3f} | {np.median(v[:, 3]):.1f} | "
              + ("" if who == "data" else f"{spread(q):.3f}") + " |", flush=True)


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
