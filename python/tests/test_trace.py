"""Python functions as constraints: their formulas have NumPy's values, and what cannot be a formula is refused by line."""

from __future__ import annotations

import dataclasses
import functools
import linecache
import math
import pickle
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
from numpy import array, zeros

import landing

# Constraint functions of the field, as people write them. The number is that of coordinates.

BONDS = [(0, 1), (1, 2), (2, 3), (3, 4)]
COVARIANCE = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, -0.02], [0.0, -0.02, 0.16]])
LINKS = np.array([0.7, 0.5, 0.3])
EDGES = np.array([[0, 1], [1, 2], [2, 0], [2, 3]])
G = np.array([[3.0, -1, 0, -2], [-1, 2, -1, 0], [0, -1, 4, -3], [-2, 0, -3, 5]])
B = np.array([[-9.0, 4, 0, 5], [4, -7, 3, 0], [0, 3, -8, 5], [5, 0, 5, -10]])
JOINTS = [(0.0, 0.333, 0.0), (0.0, 0.0, -np.pi / 2), (0.0, 0.316, np.pi / 2), (0.0825, 0.0, np.pi / 2)]


def torus(x):
    return (np.sqrt(x[0] ** 2 + x[1] ** 2) - 2) ** 2 + x[2] ** 2 - 0.36


def sphere(x):
    return np.linalg.norm(x) - 1


def ellipsoid(x, axes=(1.0, 2.0, 3.0)):
    return np.sum((x / np.asarray(axes)) ** 2) - 1


def stiefel(x):
    q = x.reshape(4, 2)
    return q.T @ q - np.eye(2)


def rotation(x):
    r = x.reshape(3, 3)
    return np.append((r @ r.T - np.identity(3))[np.triu_indices(3)], np.linalg.det(r) - 1)


def quadric(x):
    a = np.diag([1.0, -2.0, 0.5])
    a[0, 1] = a[1, 0] = 0.3
    return x.T @ a @ x + np.dot([0.1, 0.2, 0.3], x) - 1.5


def bonds(x):
    p = x.reshape(-1, 3)
    return np.array([np.linalg.norm(p[i] - p[j]) - 1.5 for i, j in BONDS])


def angle(x):
    a, b, c = np.split(x, 3)
    u, v = a - b, c - b
    return np.arccos(np.clip(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)), -1, 1)) - 1.9


def dihedral(x):
    p = x.reshape(4, 3)
    b0, b1, b2 = p[0] - p[1], p[2] - p[1], p[3] - p[2]
    b1 = b1 / np.linalg.norm(b1)
    v = b0 - np.dot(b0, b1) * b1
    w = b2 - np.dot(b2, b1) * b1
    return np.arctan2(np.dot(np.cross(b1, v), w), np.dot(v, w)) - 1.0


def positive_definite(x):
    m = np.array([[x[0], x[1], x[2]], [x[1], x[3], x[4]], [x[2], x[4], x[5]]])
    return -np.array([np.linalg.det(m[:k, :k]) for k in (1, 2, 3)])


def unit_determinant(x):
    m = x.reshape(4, 4)
    return np.linalg.det(m) - 1


def four_bar(x):
    lengths = [1.0, 2.0, 1.5]
    reach = sum(l * np.array([np.cos(a), np.sin(a)]) for l, a in zip(lengths, x))
    return reach - np.array([1.8, 0.0])


def planar_arm(q):
    theta, at = 0.0, zeros(2)
    for length, joint in zip(LINKS, q):
        theta = theta + joint
        at[0] += length * cos(theta)
        at[1] += length * sin(theta)
    return at - array([0.6, 0.4])


def craig(a, d, alpha, theta):
    t = np.eye(4)
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    t[:3, :3] = [[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]]
    t[:3, 3] = [a, -sa * d, ca * d]
    return t


def spatial_arm(q):
    t = np.eye(4)
    for (a, d, alpha), theta in zip(JOINTS, q):
        t = t @ craig(a, d, alpha, theta)
    return t[:3, 3] - [0.3, 0.1, 0.6]


def hyperboloid(x):
    metric = np.ones(4)
    metric[0] = -1
    return np.sum(metric * x * x) + 1


def lorentz(x):
    eta = np.diag([-1.0, 1.0, 1.0])
    m = x.reshape(3, 3)
    return np.einsum("ki,kl,lj->ij", m, eta, m) - eta


def klein_bottle(x):
    u, v, p = x[0], x[1], x[2:6]
    r = 2 + np.cos(v)
    image = np.stack([r * np.cos(u), r * np.sin(u), np.sin(v) * np.cos(u / 2), np.sin(v) * np.sin(u / 2)])
    return p - image


def gyroid(x):
    s, c = np.sin(2 * np.pi * x), np.cos(2 * np.pi * x)
    return np.sum(s * np.roll(c, -1))


def schwarz(x):
    return np.cos(x).sum()


def rosenbrock_wall(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) - 50


def mishra_bird(x):
    return (x[0] + 5) ** 2 + (x[1] + 5) ** 2 - 25 + np.exp((1 - np.cos(x[0])) ** 2) * np.sin(x[1])


def power_flow(x):
    e, f, p, q = np.split(x, 4)
    a, b = G @ e - B @ f, G @ f + B @ e
    return np.concatenate([e * a + f * b - p, f * a - e * b - q])


def polar_flow(x):
    v, theta = x[:4], x[4:]
    off = theta[:, None] - theta[None, :]
    return (np.outer(v, v) * (G * np.cos(off) + B * np.sin(off))).sum(axis=1)


def portfolio(w):
    return np.sum(w) - 1


def risk(w):
    return np.sqrt(w @ COVARIANCE @ w) - 0.2


def lists(x):
    gap = np.linalg.norm([x[0] - 0.1, x[1], 2.0]) - np.dot([x[0], 1.0], [x[1], x[2]]) + np.maximum.reduce([x[0], x[1]])
    return gap + np.sin([x[0], x[2]]).sum() + np.polyval([1, 2, x[1]], x[0]) - np.min([x[1], 0.3])


def of_rows(x):
    if x.ndim == 1:
        x = x[None]
    return x[:, 0] ** 2 + x[:, 1] ** 2 - 1


def selected(x):
    return np.select([x < 0, x < 0.5], [x, x**2], 2 * x - 0.5).sum()


def simplex(w):
    return -w


def tetrahedron_volume(x):
    p = x.reshape(4, 3)
    return abs(np.linalg.det(p[1:] - p[0])) / 6 - 0.2


def distances(x):
    p = np.reshape(x, (4, 2))
    return np.linalg.norm(p[EDGES[:, 0]] - p[EDGES[:, 1]], axis=1) - 1


def obstacles(x):
    centres = np.array([[0.0, 0.0], [1.0, 0.5]])
    gap = x.reshape(3, 1, 2) - centres
    return (0.3 - np.sqrt((gap**2).sum(-1))).max(axis=1)


def piecewise(x):
    return np.where(np.abs(x) <= 1, 0.5 * x**2, np.abs(x) - 0.5).sum() - 2


def trefoil(x):
    t = np.arctan2(x[1], x[0])
    return np.array([math.hypot(x[0], x[1]) - (2 + np.cos(1.5 * t)), x[2] - np.sin(1.5 * t)])


def mobius(x):
    return -x[1] + x[0] ** 2 * x[1] + x[1] ** 3 - 2 * x[0] * x[2] - 2 * x[0] ** 2 * x[2] - 2 * x[1] ** 2 * x[2] + x[1] * x[2] ** 2


def hyperbolic_distance(x):
    u, v = x[:2] / 3, x[2:] / 3
    return np.arccosh(1 + 2 * np.sum((u - v) ** 2) / ((1 - u @ u) * (1 - v @ v))) - 1.0


def projector(x):
    p = x.reshape(3, 3)
    return np.concatenate([(p @ p - p).ravel(), (p - p.T).ravel(), [p.trace() - 2]])


def double_pendulum(x):
    q1, q2, p1, p2 = x
    kinetic = (p1**2 + 2 * p2**2 - 2 * p1 * p2 * np.cos(q1 - q2)) / (2 * (1 + np.sin(q1 - q2) ** 2))
    return kinetic + 3 - 2 * np.cos(q1) - np.cos(q2) - 1.5


def soft_walls(x):
    return np.log(np.sum(np.exp(3 * x))) / 3 - 1


def closed_curve(x):
    p = x.reshape(5, 2)
    return np.var(np.linalg.norm(np.roll(p, 1, axis=0) - p, axis=1)), np.mean(p[:, 0])


def symplectic(x):
    j = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    m = x.reshape(4, 4)
    return m.T @ j @ m - j


def correlation(x):
    c = np.empty((3, 3))
    c[np.triu_indices(3)] = x
    lower = np.tril_indices(3, -1)
    c[lower] = c.T[lower]
    return np.append(np.diag(c) - 1, 0.1 - np.linalg.det(c))


FUNCTIONS = [
    (torus, 3), (sphere, 5), (ellipsoid, 3), (stiefel, 8), (rotation, 9), (quadric, 3), (bonds, 15), (angle, 9),
    (dihedral, 12), (positive_definite, 6), (unit_determinant, 16), (four_bar, 3), (planar_arm, 3), (spatial_arm, 4),
    (hyperboloid, 4), (lorentz, 9), (klein_bottle, 6), (gyroid, 3), (schwarz, 3), (rosenbrock_wall, 4), (mishra_bird, 2),
    (power_flow, 16), (polar_flow, 8), (portfolio, 3), (risk, 3), (simplex, 3), (lists, 3), (of_rows, 2), (selected, 3), (tetrahedron_volume, 12), (distances, 8),
    (obstacles, 6), (piecewise, 4), (trefoil, 3), (mobius, 3), (hyperbolic_distance, 4), (projector, 9),
    (double_pendulum, 4), (soft_walls, 4), (closed_curve, 10), (symplectic, 16), (correlation, 6),
]


@pytest.mark.parametrize("f, dim", FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS])
def test_formulas_have_the_values_of_the_functions(f, dim: int) -> None:
    """At random points, in the program, to 1e-14."""
    draw = np.random.default_rng(7)
    problem = landing.Problem(f.__name__, inequality=[f], dim=dim)
    x = draw.uniform(-1.2, 1.2, size=(50, dim))
    got = problem.values(x)
    want = np.array([np.concatenate([np.ravel(part) for part in (v if isinstance(v, tuple) else [v])])
                     for v in map(f, x)])
    names, kept = got.inequalities, []
    for k, column in enumerate(want.T):  # equal rows are kept once
        same = [j for j in kept if np.array_equal(want[:, j], column)]
        if not same and not np.all(np.abs(column - column[0]) < 1e-13):
            kept.append(k)
    assert len(names) == len(kept), f.__name__
    assert all(n == f.__name__ or n.startswith(f.__name__ + "[") for n in names)
    scale = 1 + np.abs(want[:, kept]).max(axis=0)
    assert np.all(np.abs(got.g - want[:, kept]) <= 1e-14 * scale), (f.__name__, np.abs(got.g - want[:, kept]).max() / scale)


# What is refused, with the text of the line and of the advice.

COUNT = [0]
OUTSIDE = np.zeros(3)


def branch(x):
    if x[0] > 0:
        return x[0]
    return -x[0]


def chained(x):
    return x[0] if 0 < x[1] < 1 else x[1]


def greatest(x):
    return max(x[0], x[1])


def number(x):
    return float(x[0]) - 1


def noise(x):
    scale = 1.0
    return x[0] + scale * np.random.normal()


def counter(x):
    COUNT[0] += 1
    return x[0] * COUNT[0]


def reads_a_file(x):
    return x @ np.loadtxt("a.txt")


def outside(x):
    OUTSIDE[0] = x[0]
    return OUTSIDE


def argument(x):
    x[0] = 1.0
    return x


def inverse(x):
    return np.linalg.inv(x.reshape(2, 2)).sum()


def eigenvalues(x):
    return np.linalg.eigvalsh(x.reshape(2, 2))


def rounded(x):
    return np.floor(x[0])


def largest(x):
    return x[np.argmax(x)]


def mask(x):
    return x[x > 0].sum()


def planes(x):
    return x[:, :, 0] ** 2 - 1


def nothing(x):
    x.sum()


def infinite(x):
    return x[0] + np.inf


def unknown(x):
    return np.fft.fft(x)


def hidden(x):
    try:
        return float(x[0])
    except TypeError:
        return x[1]


def typed(x):
    return x[0] if isinstance(x, np.ndarray) else x[1]


def explodes(x):
    for _ in range(40):
        x = np.outer(x, x).ravel()[:400] + 1.0
    return x


REFUSED = [
    (branch, "if x[0] > 0:", "np.where"), (chained, "0 < x[1] < 1", "np.where"), (greatest, "max(x[0], x[1])", "np.maximum"),
    (number, "float(x[0]) - 1", "turned into a number"), (noise, "np.random.normal()", "each time"),
    (counter, "COUNT[0]", "each time"), (reads_a_file, "np.loadtxt", "outside the function"),
    (outside, "OUTSIDE[0] = x[0]", "np.zeros"), (argument, "x[0] = 1.0", "x.copy()"), (inverse, "linalg.inv", "A @ y = b"),
    (eigenvalues, "eigvalsh", "leading minors"), (rounded, "np.floor", "no derivative"), (largest, "argmax", "np.max"),
    (mask, "x[x > 0]", "np.where"), (planes, "x[:, :, 0]", "one point, an array of 4 numbers"), (nothing, "x.sum()", "Return"),
    (infinite, "np.inf", "finite"), (unknown, "np.fft", "linalg.norm"), (hidden, "float(x[0])", "turned into"),
    (typed, "def typed", "type of its argument"), (explodes, "np.outer", "operations"),
]


@pytest.mark.parametrize("f, line, advice", REFUSED, ids=[f.__name__ for f, _, _ in REFUSED])
def test_refusals_name_line_and_advice(f, line: str, advice: str, folder: Path) -> None:
    Path("a.txt").write_text("1 2 3 4\n")
    real = np.array, np.zeros, open, math.sin
    with pytest.raises(landing.ConstraintError) as e:
        landing.Problem("p", equality=[lambda x: x[0], f], dim=4)
    assert advice in e.value.message and e.value.key == "set.equality[1]" and e.value.message.startswith("set.equality[1], test_trace")
    assert e.value.file == __file__ and line in linecache.getline(e.value.file, e.value.line), e.value.message
    assert (np.array, np.zeros, open, math.sin) == real
    assert type(pickle.loads(pickle.dumps(e.value))) is landing.ConstraintError


def test_names_of_columns_are_arguments(folder: Path) -> None:
    def budget(acme, bolt, core):
        return acme + bolt + core - 1

    def floor(x, level):
        return level - x["core"]

    made = landing.Problem("p", equality=[budget], inequality=[floor], names=["acme", "bolt", "core"],
                           condition={"columns": ["level"]},
                           observe=[landing.Observable("spread", lambda x: np.max(x) - np.min(x))])
    got = made.values([[0.2, 0.3, 0.4, 0.45]])
    assert got.equalities == ["budget"] and got.inequalities == ["floor"]
    assert np.allclose(got.h, -0.1) and np.allclose(got.g, 0.05) and np.allclose(got.violation, 0.1)
    assert landing.Problem("p", equality=[budget])._tree["set"]["names"] == ["acme", "bolt", "core"]
    with pytest.raises(landing.ConstraintError, match="give dim=3"):
        landing.Problem("p", equality=[torus])
    with pytest.raises(landing.ConstraintError, match="arguments a, b"):
        landing.Problem("p", equality=[lambda a, b: a], dim=2)
    with pytest.raises(landing.ConstraintError, match="arguments acme, blot"):
        landing.Problem("p", equality=[lambda acme, blot: acme - blot], names=["acme", "bolt"])


@pytest.mark.parametrize("f", [lambda x: x[0] >= 0.5, lambda x: (x[0] > 0) & (x[1] < 1), lambda x: np.where(x[0] > 0, 1, -1)])
def test_comparisons_are_no_constraints(f) -> None:
    with pytest.raises(landing.ConstraintError, match="returns a comparison.*for x"):
        landing.Problem("p", inequality=[f], dim=2)
    landing.Problem("p", dim=2, equality=["x[0] = 0"], observe=[landing.Observable("share", f)])


def test_functions_of_rows_and_objects() -> None:
    """A function of n×d points is traced on one row; a callable dataclass is a function."""
    @dataclasses.dataclass
    class Ball:
        radius: float

        def __call__(self, points):
            return np.linalg.norm(points, axis=1) - self.radius + points[:, 0]

    got = landing.Problem("p", inequality=[lambda p: p[:, 0] * p[:, 1], Ball(2.0)], dim=2).values([[3.0, 4.0]])
    assert got.g.tolist() == [[12.0, 6.0]] and got.inequalities[1] == "Ball"


def test_a_traced_problem_is_a_problem_file(folder: Path) -> None:
    made = landing.Problem("loops", equality=[bonds, functools.partial(ellipsoid, axes=(1, 1, 2))][:1], dim=15,
                           potential={"expr": lambda x: np.sum(x**2) / 2}, defaults="fixed")
    made.save("loops.yaml")
    x = np.random.default_rng(1).normal(size=(5, 15))
    read = landing.Problem.from_yaml("loops.yaml")
    assert np.array_equal(read.values(x).h, made.values(x).h)
    back = pickle.loads(pickle.dumps(made))
    assert back == made and hash(back) == hash(made) and back != made.with_settings({"seed": 2})
    assert made.values(x).equalities == [f"bonds[{i}]" for i in range(4)]


def test_sets_beside_functions_and_equal_rows() -> None:
    both = landing.Problem("p", set={"kind": "sphere", "dim": 3}, inequality=[lambda x: x[2]], dim=3)
    assert both.values([[0.0, 0.0, 2.0]]).inequalities == ["x[2] <= 0"]
    named = landing.Problem("p", equality=[stiefel, {"name": "first", "expr": lambda x: x[0] - 0.5}], dim=8)
    assert named.values(np.ones((1, 8))).equalities == ["stiefel[0,0]", "stiefel[0,1]", "stiefel[1,1]", "first"]
    lets = landing.Problem("p", equality=[symplectic], dim=16)._tree["set"]
    assert len(lets["equality"]) == 6  # m.T @ j @ m - j is skew
    with pytest.raises(landing.ConstraintError, match="whatever x is"):
        landing.Problem("p", equality=[lambda x: 3.0], dim=2)


def test_large_functions_are_written_in_parts() -> None:
    def chain(x):
        p = x.reshape(-1, 3)
        return np.array([np.linalg.norm(p[i] - p[i + 1]) - 1 for i in range(len(p) - 1)] + [np.sum(np.sin(x)) ** 2])

    x = np.random.default_rng(1).normal(size=(3, 900))
    got = landing.Problem("p", inequality=[chain], dim=900).values(x)
    assert np.allclose(got.g, [chain(y) for y in x], 1e-13, 1e-12)


@pytest.mark.filterwarnings("ignore::landing.LandingWarning")  # another test may have found the run not good
def test_functions_at_generation(run: landing.Run) -> None:
    def east(x):
        r = np.hypot(x[0], x[1])
        return np.stack([1.5 - r, 0.2 - x[0] / r])

    got = run.generate(40, given={"inequality": [east], "observe": [{"expr": lambda x: x[2] ** 2, "value": 0.1, "sd": 1}]})
    assert len(got) == 40 and all(np.all(east(x) <= 1e-9) for x in got)
    with pytest.raises(landing.ConstraintError, match="given.inequality"):
        run.generate(4, given={"inequality": [branch]})
    with pytest.raises(landing.ProblemError, match="^given: inequality.*unknown name") as e:
        run.generate(4, given={"inequality": ["z >= 0"]})
    assert e.value.file is None and e.value.key == "inequality[0].expr"


@pytest.mark.filterwarnings("ignore::landing.LandingWarning")
def test_functions_at_generation_have_the_names_of_the_run(caplog: pytest.LogCaptureFixture) -> None:
    draw = np.random.default_rng(1).normal(size=(200, 2))
    def unit(u, v):
        r = u**2 + v**2
        return r + np.sin(r - 1) - 1  # its formula has a definition, t1

    def above(v, u):
        s = np.sin(u - 2 * v)
        return np.stack([u - 2 * v, s * s - 2 + np.cos(s), s - 2])

    circle = landing.Problem("c", equality=[unit], names=["u", "v"], defaults="fixed", process={"steps": 20})
    assert "t1" in circle._tree["set"]["let"]
    run = landing.train(circle, draw / np.linalg.norm(draw, axis=1)[:, None],
                        settings={"train.epochs": 3, "network.width": 8, "network.layers": 1})
    with caplog.at_level("INFO", "landing"):
        got = run.generate(40, given={"inequality": [lambda v: 0.2 - v, above],
                                      "observe": [{"expr": lambda v: v, "value": 0.5, "sd": 2}]})
    assert (got[:, 1] >= 0.2 - 1e-9).all() and (got[:, 0] <= 2 * got[:, 1] + 1e-9).all()
    assert "law: the run's law on its set" in caplog.text and "effective samples" in caplog.text
