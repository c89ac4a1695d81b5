"""The doctor, and chains."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import landing


def test_check(torus, points: np.ndarray) -> None:
    c = landing.check(torus, points)
    assert c.ok and c.status in ("PASS", "WARN") and len(c) == len(list(c)) > 5 and c.told["data_points"] == 300
    assert "kinks" in repr(c) and "<table>" in c._repr_html_() and c.raise_if_failed() is c
    assert landing.check(torus).ok  # stand-ins for data


def test_check_that_fails() -> None:
    p = landing.Problem("bad", set=landing.Formulas(2, equality=["x[0]^2 + x[1]^2 = -1"]))
    c = landing.check(p)
    assert not c.ok and c.failures() and "FAIL" in c._repr_html_()
    with pytest.raises(landing.CheckError, match="feasible") as e:
        c.raise_if_failed()
    assert e.value.result is c and e.value.code == 4


def test_html_is_escaped() -> None:
    from landing._results import table

    assert "<b>" not in table(["<b>"], [("<b>", "FAIL")])


UNIFORM = {"sample.draws": 400, "sample.chains": 4, "sample.thin": 30, "sample.burn": 300}


def test_sample_arrays(torus) -> None:
    d = landing.sample(torus, settings=UNIFORM, kind="arrays")
    assert d.x.shape == (4, 400, 3) and "4 chains" in repr(d)
    r = np.hypot(np.hypot(d.x[..., 0], d.x[..., 1]) - 2, d.x[..., 2])
    assert np.abs(r - 0.6).max() < 1e-9
    # By symmetry each mean is 0: six standard errors are beyond it once in 10⁸.
    for j, told in enumerate(d.summary["coordinates"]):
        assert abs(d.x[..., j].mean()) < 6 * told["mc_error"] and abs(told["mean"] - d.x[..., j].mean()) < 1e-12


def test_sample_without_arviz(torus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    assert isinstance(landing.sample(torus, settings=UNIFORM), landing.Draws)
    with pytest.raises(ImportError):
        landing.sample(torus, settings=UNIFORM, kind="arviz")


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_sample_as_arviz(torus) -> None:
    pytest.importorskip("arviz")
    posterior = landing.sample(torus, settings=UNIFORM)["posterior"]
    assert posterior["x"].dims[:2] == ("chain", "draw") and posterior["x"].shape == (4, 400, 3)


def test_sample_that_has_not_mixed(torus) -> None:
    with pytest.raises(landing.CheckError, match="mixed") as e:
        landing.sample(torus, settings={"sample.draws": 20, "sample.thin": 1, "sample.burn": 1, "sample.max_rhat": 1.001})
    assert e.value.result.x.shape == (8, 20, 3)
