"""Problems of Python objects say what problem files say; what cannot be written down is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import landing

CIRCLE = "norm(x) = 1"


def circle(n: int = 60) -> np.ndarray:
    t = np.linspace(0, 6, n)
    return np.stack([np.cos(t), np.sin(t)], 1)


def test_formulas_and_file_agree(folder: Path) -> None:
    """The same problem, as objects and as a file, trains to the same weights."""
    from conftest import TINY

    made = landing.Problem(
        "circle",
        set=landing.Formulas(2, equality=[landing.Constraint(CIRCLE, "circle")], inequality=["x[0] >= -2"],
                             let={"half": "0.5"}),
        observe=[landing.Observable("angle", "atan2(x[1], x[0])", circular=True, bins=20)],
        defaults="fixed",
    )
    (folder / "circle.yaml").write_text(
        "name: circle\nset:\n  dim: 2\n  let: {half: '0.5'}\n  equality: [{name: circle, expr: norm(x) = 1}]\n"
        "  inequality: [{name: 'x[0] >= -2', expr: 'x[0] >= -2'}]\n"
        "observe: [{name: angle, expr: 'atan2(x[1], x[0])', circular: true, bins: 20}]\ndefaults: fixed\n")
    read = landing.Problem.from_yaml("circle.yaml")
    a, b = (landing.train(p, circle(), settings=TINY) for p in (made, read))
    assert a.path != b.path
    assert np.array_equal(a.generate(20), b.generate(20))
    assert a.config == b.config


def test_family_and_dataclass() -> None:
    @dataclass
    class Train:
        epochs: int = 2
        batch: int = 30

    p = landing.Problem(
        "circles",
        set=landing.Formulas(4, equality=[landing.Constraint("x[2*j]^2 + x[2*j+1]^2 = 1", "circle[j]", for_="j in 0..1")]),
        train=Train(), defaults="fixed", network={"width": np.int64(8)}, seed=np.uint8(3),
    )
    found = landing.check(p, np.hstack([circle(), circle()]))
    assert found.told["equalities"] == 2
    assert {f.component for f in found} >= {"circle[0]", "circle[1]"}


def test_every_field_of_the_dataclasses_is_a_key() -> None:
    """The binary refuses keys that it does not know: it knows all of these."""
    Path("most.csv").write_text("2\n3\n")
    p = landing.Problem(
        "all",
        set=landing.Formulas(2, equality=[landing.Constraint("u[j] = 0", "u[j]", for_="j in 0..0")],
                             inequality=[landing.Constraint("x[0] - most", "g")], names=["p", "q"],
                             let={"u": "[norm(x) - 1]", "most": {"file": "most.csv"}}),
        observe=[landing.Observable("a[j]", "v*x[j]", for_="j in 0..1", let={"v": "1"}, unit="m", range=(-1, 1), bins=9,
                                    circular=False)],
        defaults="fixed",
    )
    assert landing.check(p, circle()).ok


@pytest.mark.parametrize("problem, says", [
    (lambda: landing.Problem("f", set=landing.Formulas(2, inequality=[landing.Constraint(math.floor, "s")])), "turned into a number"),
    (lambda: landing.Problem("f", set={"kind": "sphere", "dim": 2, "radius": abs}), "Functions may stand in the lists equality"),
    (lambda: landing.Problem("f", set=landing.Formulas(2, ["x[0]"], let={"r": abs})), "Functions may stand in the lists equality"),
    (lambda: landing.Problem(lambda x: x, dim=2), "name is <function"),
    (lambda: landing.Problem("f", dim=2), "has no constraints"),
])
def test_functions_elsewhere_are_refused(problem, says: str) -> None:
    with pytest.raises(landing.ProblemError, match=says):
        problem()


@pytest.mark.parametrize("value, says", [
    (float("nan"), "finite"), (math.inf, "finite"), (object(), "of type object"), ({1: 2}, "expected text"),
    (b"bytes", "of type bytes"), ({3, 4}, "of type set"), (np.array([1.0, np.nan]), "finite"),
])
def test_what_no_file_can_hold(value, says: str) -> None:
    with pytest.raises(landing.ConstraintError, match=says) as e:
        landing.Problem("f", set={"kind": "sphere", "dim": 2}, train={"learning_rate": value})
    assert e.value.key.startswith("train.learning_rate")


def test_faults_name_file_line_and_key(folder: Path) -> None:
    (folder / "p.yaml").write_text("name: p\nset:\n  kind: sphere\n  dim: 3\n  radius: -1\n")
    with pytest.raises(landing.ProblemError) as e:
        landing.check("p.yaml")
    assert (Path(e.value.file).name, e.value.line, e.value.key, e.value.code) == ("p.yaml", 5, "set.radius", 3)
    (folder / "broken.yaml").write_text("name: [\n")
    with pytest.raises(landing.ProblemError) as e:
        landing.check("broken.yaml")
    assert e.value.line is not None


def test_faults_in_objects_have_a_key_but_no_file() -> None:
    p = landing.Problem("p", set={"kind": "sphere", "dim": 3, "radius": -1})
    with pytest.raises(landing.ProblemError) as e:
        landing.check(p)
    assert (e.value.key, e.value.file, e.value.line) == ("set.radius", None, None)
    assert "/tmp" not in str(e.value) and "problem.yaml" not in str(e.value) and str(e.value).startswith("set.radius")
    with pytest.raises(landing.ProblemError, match="colour"):
        landing.check(landing.Problem("p", set={"kind": "sphere", "dim": 3}, colour="red"))
    with pytest.raises(landing.ProblemError) as e:
        landing.check(landing.Problem("p", set={"kind": "sphere", "dim": 3}), settings={"train.epoch": 3})
    assert e.value.key == "train.epoch"


def test_files_are_from_the_working_directory(folder: Path) -> None:
    np.save("points.npy", circle())
    p = landing.Problem("c", set={"kind": "sphere", "dim": 2}, data={"path": "points.npy"}, defaults="fixed")
    assert landing.check(p).told["data_points"] == 60
    with pytest.raises(landing.LandingError) as e:
        landing.check(landing.Problem("m", set={"kind": "level-set", "weights": "gone.npz", "mesh": Path("gone.ply")}))
    assert str(folder / "gone") in str(e.value)


def test_settings() -> None:
    p = landing.Problem("c", set={"kind": "sphere", "dim": 2}, defaults="fixed")
    q = p.with_settings({"train.epochs": 3, "process.sigma": {"min": 0.2, "max": 1.0}, "title": "größer"})
    assert p._settings == {} and landing.check(q, circle()).ok
    with pytest.raises(landing.ProblemError, match="no key"):
        landing.check(p, settings={"a=b": 1})
    with pytest.raises(landing.ConstraintError):
        p.with_settings({"train.epochs": lambda: 3})


def test_from_dict_and_names(folder: Path) -> None:
    p = landing.Problem.from_dict({"name": "d", "set": {"kind": "sphere", "dim": 2}, "seed": 2})
    assert p.name == "d" and "d" in repr(p)
    for tree in ({"name": "d"}, {"set": {}}, [1]):
        with pytest.raises(landing.ProblemError):
            landing.Problem.from_dict(tree)
    assert landing.Problem.recipe("demo").name == "demo"
    with pytest.raises(landing.ProblemError, match="volcano"):
        landing.Problem.recipe("vulcano")
    with pytest.raises(landing.ProblemError, match="no such problem file"):
        landing.Problem.from_yaml("gone.yaml")
    with pytest.raises(landing.UsageError, match="expected a Problem"):
        landing.check(3)
    (folder / "-x.yaml").write_text("name: x\nset: {kind: sphere, dim: 2}\ndefaults: fixed\n")
    assert landing.check("-x.yaml", circle()).told["problem"] == "x"
