"""Training, samples, evaluation, pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import TINY, Frame, off

import landing
from landing import _binary, _run


def test_train(run: landing.Run, points: np.ndarray) -> None:
    assert run.state == "trained" and run.epoch == 3 and run.dim == 3
    assert run.path.name == "torus-001" and run.checkpoints
    kept = Path(run.manifest["data"]["path"])
    assert kept.parent == run.path.parent / "data" and np.array_equal(np.load(kept, allow_pickle=False), points)
    assert [m.epoch for m in run.metrics() if m.kind == "epoch"] == [1, 2, 3]
    assert "kind: torus" in run.config and "trained" in repr(run)
    again = landing.Run.open(run.path)
    assert again.manifest == run.manifest


def test_tensorboard(torus, points: np.ndarray) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = landing.train(torus, points, settings=TINY)
    run.tensorboard()
    run.resume(settings={"train.epochs": 5})
    events = reader.EventAccumulator(str(run.tensorboard())).Reload()
    losses = [m.loss for m in run.metrics() if m.kind == "epoch"]
    assert [e.step for e in events.Scalars("epoch/loss")] == [1, 2, 3, 4, 5]
    assert np.allclose([e.value for e in events.Scalars("epoch/loss")], losses)
    assert len(events.Scalars("epoch/worst")) == 5


def test_licences_go_along() -> None:
    """The terms of all that is linked into the program ask for it."""
    package = Path(landing.__file__).parent
    if not (package / "_bin").exists():
        pytest.skip("a checkout, no wheel")
    assert "Apache License" in (package / "LICENSE").read_text() and (package / "NOTICE").stat().st_size > 0
    others = (package / "THIRD_PARTY_LICENSES").read_text(encoding="utf-8")
    for of in ("github.com/spf13/cobra v", "github.com/parquet-go/parquet-go v", "runtime and standard library"):
        assert of in others


def test_same_data_is_kept_once(torus, points: np.ndarray, folder: Path) -> None:
    landing.train(torus, points.tolist(), settings=TINY)
    landing.train(torus, points, settings=TINY, out="another")
    assert len(list((folder / "runs" / "data").iterdir())) == 1
    assert landing.Run.open("another").epoch == 3
    with pytest.raises(landing.DataError) as e:
        landing.train(torus, points, settings=TINY, out="another")
    assert e.value.kind == "exists"
    assert landing.train(torus, points, settings=TINY, out="another", force=True).epoch == 3


def test_generate(run: landing.Run) -> None:
    a = run.generate(50)
    assert a.shape == (50, 3) and a.dtype == np.float64 and off(a) < 1e-12
    assert np.array_equal(run.generate(20, first=30), a[30:])
    assert not np.array_equal(run.generate(20, seed=9), a[:20])
    assert not np.array_equal(run.generate(20, settings={"process.steps": 10}), a[:20])
    assert run.generate(1, seed=2**64 - 1).shape == (1, 3)


def test_generate_is_what_the_binary_writes(run: landing.Run, folder: Path) -> None:
    subprocess.run([_binary.binary(), "generate", run.path, "-n", "40", "-o", "s.npy", "-q"], check=True,
                   capture_output=True)
    assert np.array_equal(np.load("s.npy", allow_pickle=False), run.generate(40))


def test_long_calls_are_cut(run: landing.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run.generate(50, first=5)
    monkeypatch.setattr(_run, "_MOST_NUMBERS", 60)
    assert np.array_equal(run.generate(50, first=5), whole)


def test_too_many_failures_leave_what_there_is(run: landing.Run) -> None:
    """Two long projected steps lose samples: their numbers are told, and an error holds the others."""
    lossy = {"process.method": "ULLA-P", "process.steps": 2}
    with pytest.warns(landing.LandingWarning, match="of 40 samples failed and are left out: numbers [0-9]") as told:
        some = run.generate(40, settings={**lossy, "generate.max_failed": 1})
    assert 0 < len(some) < 40 and off(some) < 1e-9 and told[0].filename == __file__
    with pytest.raises(landing.CheckError) as e:
        run.generate(40, settings={**lossy, "generate.max_failed": 0})
    assert e.value.code == 4 and np.array_equal(e.value.result, some)


def test_evaluate(run: landing.Run, points: np.ndarray) -> None:
    with pytest.warns(landing.LandingWarning, match="the samples are not good: ") as told:
        e = run.evaluate(100)
    assert e.findings[0].says in str(told[0].message) and e.verdict.grade == e.grade == "not good"
    assert all(f.remedy.call.startswith("run.resume(") for f in e.findings if f.remedy and f.remedy.verb == "go_on")
    assert e["samples"] == 100 and not e.good and e.findings and 0 < e.floor < e.distance < 1 and e.violation < 1e-12
    assert (unseen := e["verdict"]["not_judged"]) and all(n["why"] in repr(e) for n in unseen)
    assert "not good" in repr(e) and "<table>" in e._repr_html_() and len(e) == len(list(e))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", landing.LandingWarning)
        given = run.evaluate(samples=points[:150])
    assert given["samples"] == 150 and given.distance < e.distance
    with pytest.raises(landing.UsageError):
        run.evaluate(3, samples=points)
    with pytest.raises(landing.ArrayError):
        run.evaluate(samples=points * np.nan)


def test_figures(run: landing.Run) -> None:
    f = run.figure()
    assert f.path.stem == "points"  # data beside samples
    assert f._repr_png_().startswith(b"\x89PNG") and f.svg.lstrip().startswith("<") and f.path.stem in run.figures()
    assert run.figure("loss").path.stem == "loss"
    with pytest.raises(landing.UsageError, match="loss"):
        run.figure("no such")
    f.save("f.svg")
    f.save("f.png")
    assert Path("f.png").read_bytes() == f.png and Path("f.svg").read_text(encoding="utf-8") == f.svg
    assert (run.path / "report.html").exists()


def test_resume(torus, points: np.ndarray) -> None:
    """A finished run goes on for more epochs; where its data is gone, with the same data from elsewhere."""
    run = landing.train(torus, points, settings=TINY)
    Path(run.manifest["data"]["path"]).unlink()
    with pytest.raises(landing.DataError, match="data"):
        run.resume(settings={"train.epochs": 5})
    with pytest.raises(landing.DataError, match="SHA-256|another"):
        run.resume(settings={"train.epochs": 5}, data=points[:200])
    assert run.resume(settings={"train.epochs": 5}, data=points).epoch == 5


def test_max_time_ends_without_an_exception(torus, points: np.ndarray) -> None:
    run = landing.train(torus, points, settings={**TINY, "train.epochs": 10**6}, max_time=3)
    assert run.state == "interrupted" and run.epoch < 10**6
    with pytest.raises(landing.UsageError, match="max_time is 1e-09; expected seconds from 1 on") as e:
        landing.train(torus, points, settings=TINY, max_time=1e-9)
    assert e.value.key == "max_time"


def test_conditions(folder: Path) -> None:
    draw = np.random.default_rng(2)
    a, t = draw.uniform(1, 2, 200), draw.uniform(0, 6, 200)
    data = np.stack([a * np.cos(t), np.sin(t), a], 1)
    p = landing.Problem("ellipse", set=landing.Formulas(2, equality=["(x[0]/a)^2 + x[1]^2 = 1"]),
                        condition={"columns": ["a"]}, defaults="fixed", process={"steps": 20})
    run = landing.train(p, data, settings=TINY)
    assert run.condition_names == ["a"]
    one = run.generate(30, condition={"a": 1.5})
    assert one.shape == (30, 3) and np.all(one[:, 2] == 1.5)
    assert np.abs((one[:, 0] / 1.5) ** 2 + one[:, 1] ** 2 - 1).max() < 1e-9
    rows = run.generate(2, condition=[[1.2], [1.8]])
    assert rows[:, 2].tolist() == [1.2, 1.2, 1.8, 1.8]
    assert run.generate(2, condition={"a": np.array([1.2, 1.8])})[:, 2].tolist() == [1.2, 1.2, 1.8, 1.8]
    with pytest.warns(landing.LandingWarning, match="a is 9") as told:
        run.generate(1, condition={"a": 9.0}, settings={"generate.max_failed": 1})
    assert told[0].filename == __file__  # the line that called
    for bad in ({"b": 1.0}, {"a": np.nan}, [[1.0, 2.0]], "a=x", {}):
        with pytest.raises(landing.LandingError):
            run.generate(2, condition=bad)
    with pytest.raises(landing.LandingError, match="condition"):
        run.generate(2)


def test_names_of_columns_decide() -> None:
    draw = np.random.default_rng(2)
    a, b, t = draw.uniform(1, 2, 200), draw.uniform(-3, -2, 200), draw.uniform(0, 6, 200)
    frame = Frame({"x": a * np.cos(t), "y": np.sin(t), "b": b, "a": a})
    p = landing.Problem("ellipse", set=landing.Formulas(2, equality=["(x[0]/a)^2 + x[1]^2 = 1"]),
                        condition={"columns": ["a", "b"]}, defaults="fixed", process={"steps": 20})
    run = landing.train(p, frame, settings=TINY)
    assert run.condition_names == ["a", "b"] and Path(run.manifest["data"]["path"]).suffix == ".csv"
    drawn = run.generate(5, condition=Frame({"b": [-2.5], "a": [1.5]}))
    assert np.all(drawn[:, 2:] == [1.5, -2.5])
    columns = dict(zip(["b", "x", "a", "y"], drawn[:, [3, 0, 2, 1]].T))
    assert np.array_equal(np.asarray(run._ordered(Frame(columns))), drawn)
    with pytest.raises(landing.ArrayError, match="no column 'b'"):
        run.evaluate(samples=Frame({"x": [1.0], "y": [0.0], "a": [1.0]}))
    earth = Frame({"place": ["a", "b"] * 50, "Longitude": draw.uniform(100, 180, 100), "Latitude": draw.uniform(-60, 60, 100)})
    quakes = landing.Problem("quakes", data={"kind": "earth"}, set={"kind": "sphere", "dim": 3}, defaults="fixed",
                             process={"steps": 20})
    assert landing.train(quakes, earth, settings=TINY).dim == 3


def test_score(run: landing.Run, points: np.ndarray) -> None:
    t = run.network()["times"][3]
    p = np.zeros_like(points[:5])
    s = run.score(points[:5], p, t)
    assert s.shape == (5, 3) and np.array_equal(run.score(points[1:2], p[:1], [t])[0], s[1])
    assert run.score(points[:5], p, t, precision="bfloat16").shape == (5, 3)
    for bad in ({"x": points[:5], "t": t}, {"x": points[:5], "p": p}, {"x": points[:5, :2], "p": p, "t": t},
                {"x": points[:5], "p": p, "t": [t, t]}, {"x": points[:5], "p": p, "t": np.inf},
                {"x": points[:5], "p": p, "t": t, "precision": "float16"}):
        with pytest.raises(landing.LandingError):
            run.score(**bad)


def test_run_folder_gone(run: landing.Run, tmp_path: Path) -> None:
    with pytest.raises(landing.DataError, match="no such run folder") as e:
        landing.Run.open(tmp_path / "gone")
    assert e.value.kind == "run" and e.value.file.endswith("gone")
    with pytest.raises(landing.DataError, match="not a run folder"):
        landing.Run.open(tmp_path)


def test_run_folder_goes_away(torus, points: np.ndarray) -> None:
    run = landing.train(torus, points, settings=TINY)
    run.path.rename(run.path.with_name("elsewhere"))
    for use in (lambda: run.generate(3), run.evaluate, run.figure, run.figures, run.metrics, run.network, run.refresh,
                run.resume, run.report, lambda: run.condition_names):
        with pytest.raises(landing.DataError, match="no such run folder") as e:
            use()
        assert e.value.file == str(run.path)
    assert landing.Run.open(run.path.with_name("elsewhere")).generate(3).shape == (3, 3)


def test_files_in_between_are_not_named(run: landing.Run, torus, points: np.ndarray) -> None:
    """What is wrong with an array is said of the array, not of the file that it travels in."""
    for name, use in (("samples", lambda: run.evaluate(samples=np.zeros((4, 7)))),
                      ("rows", lambda: run.score(points[:2, :2], t=0.1)),
                      ("data", lambda: landing.check(torus, points[:, :2]))):
        with pytest.raises(landing.DataError) as e:
            use()
        assert str(e.value).startswith(name) and "npy" not in str(e.value) and e.value.file is None


def test_names_that_begin_with_a_dash(torus, points: np.ndarray, folder: Path) -> None:
    run = landing.train(torus, points, settings=TINY, out="-out=x")
    assert landing.Run.open("-out=x").generate(3).shape == (3, 3)
    assert run.path == folder / "-out=x"
    with pytest.raises(landing.ProblemError) as e:
        landing.train(landing.Problem("--json", set={"kind": "sphere", "dim": 3}), points)
    assert e.value.key == "name"


def test_progress(torus, points: np.ndarray, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar, without tqdm a plain one; and nothing where nobody watches."""
    landing.check(torus, points)
    assert capfd.readouterr().err == ""
    landing.train(torus, points, settings=TINY, progress=True)
    assert "3/3" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    run = landing.train(torus, points, settings=TINY, progress=True)
    told = capfd.readouterr().err
    assert "training: 3/3 epoch loss=" in told and told.endswith("\n")
    run.generate(30, progress=True)
    assert "generating: 30/30 sample" in capfd.readouterr().err


INTERRUPTED = """
import json, os, signal, sys, threading, time
from pathlib import Path
import numpy as np
import landing

def stop():
    while not list(Path("runs").glob("*/metrics.jsonl")):
        time.sleep(0.02)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
threading.Thread(target=stop, daemon=True).start()
t = np.linspace(0, 6, 100)
p = landing.Problem("circle", set={"kind": "sphere", "dim": 2}, defaults="fixed", network={"width": 8, "layers": 1})
try:
    landing.train(p, np.stack([np.cos(t), np.sin(t)], 1), settings={"train.epochs": 10**6})
except KeyboardInterrupt as e:
    r = e.run
    n = r.epoch
    print(json.dumps({"path": str(r.path), "state": r.state, "epoch": n, "says": str(e)}))
    assert r.resume(settings={"train.epochs": n + 2}).epoch == n + 2
    print("resumed")
"""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot send itself Ctrl-C alone")
def test_ctrl_c_keeps_the_run(folder: Path) -> None:
    told = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    first, rest = told.stdout.splitlines()
    got = json.loads(first)
    assert got["state"] == "interrupted" and got["epoch"] > 0 and rest == "resumed"
    assert Path(got["path"]) == folder / "runs" / "circle-001" and "run.resume()" in got["says"]


def test_the_binary_does_not_outlive_python(folder: Path) -> None:
    """A kernel that is killed takes its training with it, which keeps its work."""
    script = INTERRUPTED.replace("getpid(), signal.SIGINT", f"getpid(), signal.SIG{'KILL' if os.name != 'nt' else 'TERM'}")
    subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=False)
    status = folder / "runs" / "circle-001" / "status.json"
    import time

    for _ in range(300):
        if status.exists() and json.loads(status.read_text())["state"] == "interrupted":
            return
        time.sleep(0.1)
    pytest.fail("the training goes on")
