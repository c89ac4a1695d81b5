"""The package among others: scikit-learn, frames, ArviZ, pickles, the hub, types."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import TINY, Frame, off

import landing


def test_model(torus, points: np.ndarray, folder: Path) -> None:
    model = landing.Model(torus, settings=TINY)
    with pytest.raises(landing.UsageError, match="not fitted"):
        model.sample()
    assert model.fit(points) is model and model.n_features_in_ == 3 and model.run_.epoch == 3
    assert np.array_equal(model.sample(5, random_state=3), model.run_.generate(5, seed=3))
    assert not hasattr(model, "score_samples") and not hasattr(model, "feature_names_in_")
    assert model.set_params(budget="1s").get_params()["budget"] == "1s"
    with pytest.raises(landing.UsageError, match="has no 'epochs'"):
        model.set_params(epochs=3)
    sklearn = pytest.importorskip("sklearn.base")
    assert sklearn.clone(model).get_params() == model.get_params()


def test_columns_decide_by_name(folder: Path) -> None:
    w = np.random.default_rng(0).dirichlet([1, 2, 3], 60)
    def budget(acme, bolt, core):
        return acme + bolt + core - 1

    problem = landing.Problem("p", equality=[budget], inequality=[lambda acme: -acme], names=["acme", "bolt", "core"],
                              observe=[landing.Observable("core", "core")], defaults="fixed")
    columns = {"day": np.arange(60), "core": w[:, 2], "acme": w[:, 0], "bolt": w[:, 1]}
    frames = [Frame(columns)]
    for name in ("pandas", "polars"):
        if (library := sys.modules.get(name) or _maybe(name)) is not None:
            frames.append(library.DataFrame(columns))
    problem.save("p.yaml")
    runs = [landing.train(p, f, settings=TINY) for f in frames for p in (problem, "p.yaml")]
    wanted = landing.train(problem, w, settings=TINY).generate(5)
    assert all(np.array_equal(r.generate(5), wanted) for r in runs)
    assert landing.Model(problem, settings=TINY).fit(frames[-1]).feature_names_in_.tolist() == list(columns)
    assert len(problem.values(Frame(columns)).h) == runs[0].evaluate(samples=Frame(columns))["samples"] == 60
    for use in (lambda f: landing.check(problem, f), problem.values, lambda f: runs[0].evaluate(samples=f)):
        with pytest.raises(landing.ArrayError, match="has no column 'acme', a coordinate of the problem; its columns are core, bolt"):
            use(Frame({k: columns[k] for k in ("core", "bolt", "day")}))


def _maybe(name: str):
    try:
        return __import__(name)
    except ImportError:
        return None


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_draws_in_arviz() -> None:
    pytest.importorskip("arviz")
    problem = landing.Problem("p", equality=[lambda a, b: a * a + b * b - 1])
    draws = landing.sample(problem, settings={"sample.draws": 400, "sample.chains": 4}, kind="arrays")
    assert draws.violation.shape == (4, 400) and 0 < draws.violation.max() < 1e-9
    tree = draws.to_arviz()
    assert tree["posterior"]["x"].sel(coordinate="b").shape == (4, 400)
    assert np.array_equal(tree["sample_stats"]["violation"], draws.violation)
    assert tree["posterior"].attrs["step"] == draws.summary["step"]


def test_pickles_and_html(run: landing.Run) -> None:
    back = pickle.loads(pickle.dumps(run))
    assert np.array_equal(back.generate(3), run.generate(3))
    assert "epoch 3" in run._repr_html_() and "loss" in run._repr_html_()
    assert isinstance(run.metrics()[0], landing.Metric) and run.metrics()[0].epoch == 1


@pytest.mark.filterwarnings("ignore::landing.LandingWarning")
def test_hub(run: landing.Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the hub keeps a repository in a folder."""
    with pytest.raises(landing.UsageError, match="pip install huggingface_hub"):
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        run.push_to_hub("me/torus")

    class HfApi:
        def __init__(self, token=None) -> None:
            pass

        def create_repo(self, repo_id, private, exist_ok):
            return f"https://hub/{repo_id}"

        def upload_folder(self, repo_id, folder_path, commit_message) -> None:
            shutil.copytree(folder_path, folder / "hub" / repo_id)

    run = landing.Run.open(shutil.copytree(run.path, folder / "mine"))  # it gets a report
    hub = types.ModuleType("huggingface_hub")
    hub.HfApi = HfApi
    hub.snapshot_download = lambda repo_id, revision, token, allow_patterns: str(folder / "hub" / repo_id)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert run.push_to_hub("me/torus", license="mit") == "https://hub/me/torus"
    kept = folder / "hub" / "me" / "torus"
    assert "mit" in (kept / "README.md").read_text(encoding="utf-8") and not list(kept.rglob("report.html"))
    back = landing.Run.from_pretrained("me/torus")
    assert back.path == folder / "runs" / "me--torus" and np.array_equal(back.generate(4), run.generate(4))
    assert off(back.generate(4)) < 1e-9 and landing.Run.from_pretrained(str(back.path)).epoch == 3
    with pytest.raises(landing.DataError, match="exists"):
        landing.Run.from_pretrained("me/torus")
    (folder / "hub" / "me" / "other").mkdir()
    with pytest.raises(landing.DataError, match="holds no run"):
        landing.Run.from_pretrained("me/other")


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types(checker: str, folder: Path) -> None:
    """The package, and code that uses it, without a fault, where the checker is installed."""
    pytest.importorskip(checker)
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 3):
        pytest.skip("older types of NumPy are less exact")
    package = folder / "landing"  # what lies in site-packages is not checked
    shutil.copytree(Path(landing.__file__).parent, package, ignore=shutil.ignore_patterns("_bin", "__pycache__"))
    (folder / "use.py").write_text(
        "import landing\n"
        "p = landing.Problem('p', equality=[lambda x: x[0]], dim=2)\n"
        "run: landing.Run = landing.train(p, [[0.0, 1.0]])\n"
        "codes: list[str] = [f.code for f in run.evaluate().verdict.findings]\n"
        "wrong: int = run.path\n")
    settings = Path(__file__).parents[1] / "pyproject.toml"
    if checker == "mypy":
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(settings), "landing", "use.py"]
    else:
        command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "landing", "use.py"]
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=clean).stdout
    if checker == "mypy":
        faults = [line for line in told.splitlines() if ": error:" in line]
    else:
        if not told.startswith("{"):
            pytest.skip("pyright cannot run: it needs Node.js")
        listed = json.loads(told)["generalDiagnostics"]
        faults = [f"{Path(f['file']).name}: {f['message']}" for f in listed if f["severity"] == "error"]
        faults = [f for f in faults if "could not be resolved" not in f]  # packages that need not be installed
        faults = [f for f in faults if not f.startswith(("torch.py", "_engine.py"))] if _maybe("torch") is None else faults
    assert len(faults) == 1 and faults[0].startswith("use.py"), faults
