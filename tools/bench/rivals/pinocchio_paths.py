"""Trajectories of an arm, checked by Pinocchio: where links are, and what they violate.

    pip install pin numpy
    python tools/bench/rivals/pinocchio_paths.py poses FOLDER
    python tools/bench/rivals/pinocchio_paths.py paths FILE.npy --urdf ARM.urdf --base LINK --tip LINK CONDITIONS

poses: FOLDER holds arm.urdf, chain.json (base, tip, links) and configurations x.npy (n×D)
with the poses that landing gives the links, poses.npy (n×links×3×4, rotation beside
origin). They must agree to 1e-9.

paths: FILE.npy holds trajectories, n×L×D or n×(L·D), each configuration the cosines of the
turning joints, their sines, the displacements of sliding ones. Conditions, all optional:

    --fix z=0.205            the tip's coordinate at every way point (again for others)
    --upright 0,0,1:0,0,1    a vector of the tip along one of the base, turn about it free
    --start X,Y,Z --goal X,Y,Z      the tip's place, or with = before it joint values
    --sphere X,Y,Z,R --capsule X,Y,Z,X,Y,Z,R --box X,Y,Z,HX,HY,HZ     obstacles
    --margin M --bodies LINK,…|shapes|meshes     what keeps clear: origins of links (those that
                             joints move), or the collision shapes of the file; of motions with meshes
    --between N              configurations looked at between way points, 100; 0: none
    --limits                 the joint limits of the file

    python tools/bench/rivals/pinocchio_paths.py motions FILE.json --urdf ARM.urdf --base LINK --tip LINK CONDITIONS

motions: FILE.json holds a list of JointTrajectory messages with velocities. Between their points joints follow the cubic
of positions and velocities, as controllers put it there; --between N places of each are looked at, 4 unless given.
Besides upright, sphere, capsule, box, fix and limits (always):

    --body LINK:X,Y,Z,R      a sphere of the arm, in the frame of a link (again for others); else as --bodies says
    --acceleration A,…       rad/s² of each joint, or one of all; unless given, the velocity limit in half a second
    --ends FILE.csv          a row start_x,…,goal_z for as many motions in turn, where the tip begins and ends

Nothing here is landing's: the file is read, and links are placed, by Pinocchio, distances of
shapes are Coal's. Without Pinocchio the script says so and ends; a violation above --tolerance
(metres and radians) is an exit status of 1.
"""

import argparse
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

try:
    import numpy as np
    import pinocchio as pin
except ImportError as missing:
    print(f"skipped: {missing.name} is not installed (pip install pin numpy)")
    sys.exit(0)


class Arm:
    """The chain between two links of a URDF file, in Pinocchio's model."""

    def __init__(self, urdf, base="", tip=""):
        self.urdf = str(urdf)
        self.model = pin.buildModelFromUrdf(self.urdf)
        self.data = self.model.createData()
        bodies = [f.name for f in self.model.frames if f.type == pin.FrameType.BODY]
        self.base = self.frame(base or bodies[0])
        self.tip = self.frame(tip or bodies[-1])
        joints, at = [], self.model.frames[self.tip].parentJoint
        while at != self.model.frames[self.base].parentJoint:
            if at == 0:
                sys.exit(f"{base} is not above {tip}")
            joints.insert(0, at)
            at = self.model.parents[at]
        slides = [self.model.joints[j].shortname().startswith("JointModelP") for j in joints]
        self.turning = [j for j, s in zip(joints, slides) if not s]
        self.sliding = [j for j, s in zip(joints, slides) if s]
        self.dim = 2 * len(self.turning) + len(self.sliding)
        # The link that a joint moves is the first body frame behind it.
        self.moved = [next(f.name for f in self.model.frames
                           if f.parentJoint == j and f.type == pin.FrameType.BODY) for j in joints]

    def frame(self, name):
        if not self.model.existFrame(name, pin.FrameType.BODY):
            sys.exit(f"{self.urdf} has no link {name}")
        return self.model.getFrameId(name, pin.FrameType.BODY)

    def angles(self, x):
        """Joint values of configurations (…×D): turning, then sliding."""
        r = len(self.turning)
        return np.concatenate([np.arctan2(x[..., r:2 * r], x[..., :r]), x[..., 2 * r:]], -1)

    def place(self, q):
        """Places all links at joint values as angles gives them."""
        full = pin.neutral(self.model)
        for j, v in zip(self.turning + self.sliding, q):
            at = self.model.joints[j].idx_q
            if self.model.joints[j].nq == 2:
                full[at], full[at + 1] = np.cos(v), np.sin(v)
            else:
                full[at] = v
        self.full = full
        pin.framesForwardKinematics(self.model, self.data, full)
        self.root = self.data.oMf[self.base].inverse()

    def pose(self, frame):
        return self.root * self.data.oMf[frame]

    def limits(self):
        """Lower and upper limits of joint values as angles gives them."""
        low, high = [], []
        for j in self.turning + self.sliding:
            at, free = self.model.joints[j].idx_q, self.model.joints[j].nq == 2
            low.append(-np.inf if free else self.model.lowerPositionLimit[at])
            high.append(np.inf if free else self.model.upperPositionLimit[at])
        return np.array(low), np.array(high)


def poses(folder):
    chain = json.loads((folder / "chain.json").read_text())
    arm = Arm(folder / "arm.urdf", chain["base"], chain["tip"])
    frames = [arm.frame(name) for name in chain["links"]]
    x, ours = np.load(folder / "x.npy"), np.load(folder / "poses.npy")
    if x.shape[1] != arm.dim:
        print(f"FAULT {x.shape[1]} coordinates, expected {arm.dim}")
        return True
    worst = [0.0, 0.0]
    for row, want in zip(arm.angles(x), ours):
        arm.place(row)
        for f, w in zip(frames, want):
            p = arm.pose(f)
            worst[0] = max(worst[0], np.abs(p.translation - w[:, 3]).max())
            worst[1] = max(worst[1], np.abs(p.rotation - w[:, :3]).max())
    print(f"{len(x)} configurations of {len(frames)} links: origins differ by at most {worst[0]:.3g} m, "
          f"rotations by {worst[1]:.3g}")
    if not max(worst) <= 1e-9:
        print("FAULT more than 1e-9")
        return True
    return False


def room(kind, v, p):
    """Signed distance of points p (…×3) from an obstacle; of a box in the axes of the base."""
    if kind == "sphere":
        return np.linalg.norm(p - v[:3], axis=-1) - v[3]
    if kind == "capsule":
        along = v[3:6] - v[:3]
        t = np.clip((p - v[:3]) @ along / max(along @ along, 1e-300), 0, 1)
        return np.linalg.norm(p - v[:3] - t[..., None] * along, axis=-1) - v[6]
    out = np.abs(p - v[:3]) - v[3:6]
    return np.linalg.norm(np.maximum(out, 0), axis=-1) + np.minimum(out.max(-1), 0)


class Clearance:
    """The least distance of an arm's bodies from obstacles at the placed configuration."""

    def __init__(self, arm, bodies, obstacles):
        self.arm, self.obstacles, self.geometry = arm, obstacles, None
        if bodies != "shapes":
            self.frames = [arm.frame(b) for b in (bodies.split(",") if bodies else arm.moved)]
            return
        import coal
        self.coal = coal
        # Shapes only: meshes would need their files.
        root = ET.parse(arm.urdf).getroot()
        for link in root.iter("link"):
            for c in [c for c in link if c.tag in ("collision", "visual") and c.find("geometry/mesh") is not None]:
                link.remove(c)
        g = pin.buildGeomFromUrdfString(arm.model, ET.tostring(root, encoding="unicode"), pin.GeometryType.COLLISION)
        self.geometry = g
        if missed := sum(len(link.findall("collision")) for link in root.iter("link")) - len(g.geometryObjects):
            print(f"Pinocchio does not read {missed} of the collision shapes")
        rooted = {0, *arm.turning, *arm.sliding}
        self.on = [i for i, o in enumerate(g.geometryObjects) if o.parentJoint in rooted]
        self.shapes = []
        for kind, v in obstacles:
            at = coal.Transform3s()
            if kind == "sphere":
                shape = coal.Sphere(v[3])
                at.setTranslation(v[:3])
            elif kind == "box":
                shape = coal.Box(*(2 * v[3:6]))
                at.setTranslation(v[:3])
            else:
                along = v[3:6] - v[:3]
                shape = coal.Capsule(v[6], float(np.linalg.norm(along)))
                at.setRotation(pin.Quaternion.FromTwoVectors(np.array([0., 0, 1]), along).matrix())
                at.setTranslation((v[:3] + v[3:6]) / 2)
            self.shapes.append((shape, at))

    def __call__(self):
        if self.geometry is None:
            p = np.array([self.arm.pose(f).translation for f in self.frames])
            return min(room(kind, v, p).min() for kind, v in self.obstacles)
        least = np.inf
        for i in self.on:
            o = self.geometry.geometryObjects[i]
            at = self.arm.root * self.arm.data.oMi[o.parentJoint] * o.placement
            place = self.coal.Transform3s(at.rotation, at.translation)
            for shape, where in self.shapes:
                result = self.coal.DistanceResult()
                least = min(least, self.coal.distance(o.geometry, place, shape, where, self.coal.DistanceRequest(), result))
        return least


def numbers(text, *counts):
    v = np.array([float(s) for s in text.split(",")])
    if counts and len(v) not in counts:
        sys.exit(f"{text}: {len(v)} numbers, expected {counts}")
    return v


def paths(a):
    arm = Arm(a.urdf, a.base, a.tip)
    x = np.load(a.file).astype(float)
    if x[0].size % arm.dim:
        sys.exit(f"{a.file}: {x[0].size} numbers a trajectory, expected a multiple of {arm.dim}")
    x = x.reshape(len(x), -1, arm.dim)
    if a.rows:
        x = x[:a.rows]
    n, steps, _ = x.shape
    q, r = arm.angles(x), len(arm.turning)
    found = {}  # by name: one violation a trajectory, and its unit

    def note(name, unit, values):
        found.setdefault(name, (unit, np.zeros(n)))
        np.maximum(found[name][1], values, out=found[name][1])

    if r:
        note("circles", "", np.abs(np.hypot(x[..., :r], x[..., r:2 * r]) - 1).max((1, 2)))
    if a.limits:
        # Of the angles that differ by whole turns any will do.
        low, high = arm.limits()
        over = np.full(q.shape, np.inf)
        for turns in (-2 * np.pi, 0, 2 * np.pi):
            v = q + turns * (np.arange(q.shape[-1]) < r)
            over = np.minimum(over, np.maximum(np.maximum(low - v, v - high), 0))
        note("limits", "rad, m", over.max((1, 2)))
    fixed = [("xyz".index(f[0]), float(f[2:])) for f in a.fix]
    upright = [[numbers(v, 3) for v in u.split(":")] for u in a.upright]
    for name, at, text in (("start", 0, a.start), ("goal", -1, a.goal)):
        if text.startswith("="):
            off = q[:, at] - numbers(text[1:], q.shape[-1])
            off[:, :r] = np.abs((off[:, :r] + np.pi) % (2 * np.pi) - np.pi)
            note(name, "rad, m", np.abs(off).max(1))
    obstacles = [(kind, numbers(t, count)) for kind, texts, count in
                 (("sphere", a.sphere, 4), ("capsule", a.capsule, 7), ("box", a.box, 6)) for t in texts]
    clear = Clearance(arm, a.bodies, obstacles) if obstacles else None
    turn = np.zeros(q.shape[-1], bool)
    turn[:r] = True
    seen, moved = np.full(n, np.inf), 0.0
    for i in range(n):
        for l in range(steps):
            arm.place(q[i, l])
            tip = arm.pose(arm.tip)
            one = np.zeros(n)
            for c, v in fixed:
                one[i] = abs(tip.translation[c] - v)
                note(f"{'xyz'[c]} = {v:g}", "m", one)
            for local, to in upright:
                d = tip.rotation @ local
                one[i] = np.arctan2(np.linalg.norm(np.cross(d, to)), d @ to)
                note("upright", "rad", one)
            for name, at, text in (("start", 0, a.start), ("goal", steps - 1, a.goal)):
                if l == at and text and not text.startswith("="):
                    one[i] = np.linalg.norm(tip.translation - numbers(text, 3))
                    note(name, "m", one)
            if clear is None:
                continue
            one[i] = max(0, a.margin - clear())
            note("clearance at way points", "m", one)
            if l + 1 == steps or a.between == 0:
                continue
            # Joints at constant rate, turning ones on the shorter arc.
            step = q[i, l + 1] - q[i, l]
            step[turn] = (step[turn] + np.pi) % (2 * np.pi) - np.pi
            last = tip.translation
            for t in np.arange(1, a.between + 1) / (a.between + 1):
                arm.place(q[i, l] + t * step)
                seen[i] = min(seen[i], clear())
                p = arm.pose(arm.tip).translation
                moved, last = max(moved, np.linalg.norm(p - last)), p
    bad = np.zeros(n, bool)
    print(f"{n} trajectories of {steps} configurations, {arm.dim} coordinates each")
    for name, (unit, v) in found.items():
        over = v > a.tolerance
        bad |= over
        print(f"{name + ':':26}worst {v.max():.3g}, median {np.median(v):.3g} {unit}; above {a.tolerance:g}: {over.sum()}")
    if clear is not None and a.between:
        hit = seen < -a.tolerance
        below = seen < a.margin - a.tolerance
        bad |= hit
        print(f"{'between way points:':26}least room {seen.min():.4g} m, median {np.median(seen):.4g} m; "
              f"collide: {hit.sum()}, within the margin: {below.sum()}\n"
              f"{'':26}({a.between} configurations in each segment; the tip moves at most {moved:.2g} m from one to the next)")
    print(f"{(~bad).sum()} of {n} trajectories keep to everything within {a.tolerance:g}")
    return bool(bad.any())


class Solids:
    """The least distance, at the placed configuration, of spheres on links (texts), or of the meshes and shapes of the
    file if there are no texts, from obstacles. Spheres are larger by margin."""

    def __init__(self, arm, texts, obstacles, margin=0.0):
        import coal
        self.arm, g = arm, pin.GeometryModel()
        if not texts:
            above = Path(arm.urdf).resolve().parents
            there = lambda m: next((str(p / r) for p in above for r in (m[1], m[1].partition("/")[2]) if (p / r).is_file()),
                                   m[0])
            text = re.sub(r'package://([^"]+)', there, Path(arm.urdf).read_text())
            g = pin.buildGeomFromUrdfString(arm.model, text, pin.GeometryType.COLLISION)
        for i, t in enumerate(texts):
            link, v = t.rsplit(":", 1)
            v, f = numbers(v, 4), arm.model.frames[arm.frame(link)]
            g.addGeometryObject(pin.GeometryObject(f"body {i}", f.parentJoint,
                                                   f.placement * pin.SE3(np.eye(3), v[:3]), coal.Sphere(v[3] + margin)))
        bodies, base = g.ngeoms, arm.model.frames[arm.base].placement
        for i, (kind, v) in enumerate(obstacles):
            turn, at = np.eye(3), v[:3]
            if kind == "sphere":
                shape = coal.Sphere(v[3])
            elif kind == "box":
                shape = coal.Box(*(2 * v[3:6]))
            else:
                along = v[3:6] - v[:3]
                shape, at = coal.Capsule(v[6], float(np.linalg.norm(along))), (v[:3] + v[3:6]) / 2
                turn = pin.Quaternion.FromTwoVectors(np.array([0., 0, 1]), along).matrix()
            g.addGeometryObject(pin.GeometryObject(f"obstacle {i}", 0, base * pin.SE3(turn, at), shape))
        moved = {*arm.turning, *arm.sliding}
        for b in range(bodies):
            if g.geometryObjects[b].parentJoint in moved:
                for o in range(bodies, g.ngeoms):
                    g.addCollisionPair(pin.CollisionPair(b, o))
        self.geometry, self.data, self.bodies = g, g.createData(), bodies

    def __call__(self):
        pin.computeDistances(self.arm.model, self.arm.data, self.geometry, self.data, self.arm.full)
        return min(r.min_distance for r in self.data.distanceResults)

    def free(self, q):
        return not pin.computeCollisions(self.arm.model, self.arm.data, self.geometry, self.data, q, True)


# What each motion may be off by at most.
MOST = {"velocity over its limit": 1, "acceleration over its bound": 1 + 1e-6, "beyond joint limits, rad": 1e-6,
        "off the task, rad or m": 1e-4, "start and goal off, m": 1e-6, "speed at the ends": 0}


def measured(a):
    """What motions of a file do, by name, a number of each; a mask of those that cannot be run; and their arm."""
    arm = Arm(a.urdf, a.base, a.tip)
    joints = arm.turning + arm.sliding
    names = [arm.model.names[j] for j in joints]
    low, high = arm.limits()
    speed = np.array([arm.model.velocityLimit[arm.model.joints[j].idx_v] for j in joints])
    push = numbers(a.acceleration, 1, len(joints)) * np.ones(len(joints)) if a.acceleration else speed / 0.5
    obstacles = [(kind, numbers(t, count)) for kind, texts, count in
                 (("sphere", a.sphere, 4), ("capsule", a.capsule, 7), ("box", a.box, 6)) for t in texts]
    clear = None
    if obstacles:
        solid = a.body or a.bodies == "meshes"
        clear = Solids(arm, a.body, obstacles) if solid else Clearance(arm, a.bodies, obstacles)
    fixed = [("xyz".index(f[0]), float(f[2:])) for f in a.fix]
    upright = [[numbers(v, 3) for v in u.split(":")] for u in a.upright]
    ends = np.loadtxt(a.ends, delimiter=",", skiprows=1, ndmin=2) if a.ends else None
    messages = json.loads(Path(a.file).read_text())
    found = {k: [] for k in ("velocity over its limit", "acceleration over its bound", "beyond joint limits, rad",
                             "off the task, rad or m", "least room, m", "start and goal off, m", "speed at the ends",
                             "seconds", "joint length, rad", "reversals")}
    parts = np.arange(a.between + 1) / max(a.between, 1)
    for i, t in enumerate(messages):
        order = [t["joint_names"].index(name) for name in names]
        q = np.array([p["positions"] for p in t["points"]])[:, order]
        v = np.array([p["velocities"] for p in t["points"]])[:, order]
        s = np.array([p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in t["points"]])
        h = np.diff(s)[:, None]
        c, d = 3 * np.diff(q, axis=0) / h**2 - (2 * v[:-1] + v[1:]) / h, -2 * np.diff(q, axis=0) / h**3 + (v[:-1] + v[1:]) / h**2
        at = h[:, None] * parts[None, :, None]
        place = q[:-1, None] + at * (v[:-1, None] + at * (c[:, None] + at * d[:, None]))
        rate = v[:-1, None] + at * (2 * c[:, None] + at * 3 * d[:, None])
        bend = 2 * c[:, None] + at * 6 * d[:, None]
        off, least, tips = 0.0, np.inf, []
        for k in place.reshape(-1, q.shape[1]):
            arm.place(k)
            tip = arm.pose(arm.tip)
            tips.append(tip.translation.copy())
            off = max([off] + [abs(tip.translation[c] - v) for c, v in fixed] +
                      [np.arctan2(np.linalg.norm(np.cross(tip.rotation @ u, w)), tip.rotation @ u @ w) for u, w in upright])
            if clear is not None:
                least = min(least, clear())
        found["velocity over its limit"].append((np.abs(rate) / speed).max())
        found["acceleration over its bound"].append((np.abs(bend) / push).max())
        found["beyond joint limits, rad"].append(np.maximum(low - place, place - high).max())
        found["off the task, rad or m"].append(off)
        found["least room, m"].append(least)
        if ends is not None:
            e = ends[i * len(ends) // len(messages)]
            found["start and goal off, m"].append(max(np.linalg.norm(tips[0] - e[:3]), np.linalg.norm(tips[-1] - e[3:6])))
        found["speed at the ends"].append(np.abs(v[[0, -1]]).max())
        found["seconds"].append(s[-1])
        found["joint length, rad"].append(np.linalg.norm(np.diff(q, axis=0), axis=1).sum())
        slow = np.where(np.abs(rate) > 1e-2 * speed, np.sign(rate), 0).reshape(-1, q.shape[1])
        found["reversals"].append(sum((np.diff(column[column != 0]) != 0).sum() for column in slow.T))
    bad = np.zeros(len(messages), bool)
    for name, values in found.items():
        found[name] = values = np.array(values)
        if len(values):
            bad |= values > MOST.get(name, np.inf) if name != "least room, m" else values < 0
    return arm, messages, found, bad


def motions(a):
    _, messages, found, bad = measured(a)
    print(f"{len(messages)} motions of {len(messages[0]['points'])} points, looked at {a.between} times between two")
    for name, values in found.items():
        if not len(values):
            continue
        over = values > MOST.get(name, np.inf) if name != "least room, m" else values < 0
        print(f"{name + ':':30}least {values.min():.4g}, median {np.median(values):.4g}, most {values.max():.4g}"
              + (f"; {over.sum()} beyond the bound" if name in MOST or name == "least room, m" else ""))
    print(f"{(~bad).sum()} of {len(messages)} motions can be run")
    return bool(bad.any())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = p.add_subparsers(dest="what", required=True)
    one = sub.add_parser("poses")
    one.add_argument("folder", type=Path)
    two, three = sub.add_parser("paths"), sub.add_parser("motions")
    for one in (two, three):
        one.add_argument("file")
        one.add_argument("--urdf", required=True)
        for name in ("base", "tip", "start", "goal", "bodies", "acceleration", "ends"):
            one.add_argument("--" + name, default="")
        for name in ("fix", "upright", "sphere", "capsule", "box", "body"):
            one.add_argument("--" + name, action="append", default=[])
        one.add_argument("--tolerance", type=float, default=1e-6)
    three.add_argument("--between", type=int, default=4)
    two.add_argument("--margin", type=float, default=0)
    two.add_argument("--between", type=int, default=100)
    two.add_argument("--rows", type=int, default=0, help="look at the first only")
    two.add_argument("--limits", action="store_true")
    a = p.parse_args()
    return {"poses": lambda: poses(a.folder), "paths": lambda: paths(a), "motions": lambda: motions(a)}[a.what]()


if __name__ == "__main__":
    sys.exit(main())
