"""Arrays and programs that cannot be used: each says what is wrong."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import landing
from landing import _arrays, _binary
from landing._errors import of

from conftest import Frame

BAD = [
    (np.array([[0.0, np.nan, 1.0]]), r"data\[0, 1\] is nan"),
    (np.array([[0.0, 1.0, np.inf], [np.inf, 0.0, 0.0]]), r"data\[0, 2\] is inf, and so are 1 more"),
    (np.zeros(5), r"shape \(5,\).*reshape"),
    (np.float64(3), r"shape \(\)"),
    (np.zeros((0, 3)), "holds nothing"),
    (np.zeros((3, 0)), "holds nothing"),
    (np.array([[1, "a"]], dtype=object), "array of objects, such as 'a'"),
    (np.array([[1, 2]], dtype=object), "array of objects"),
    ([[1, 2], [3]], "no array of numbers"),
    (np.array([["a", "b"]]), "type <U1"),
    (np.zeros((3, 2), complex), "complex"),
    (np.zeros((3, 2), bool), "bool"),
    (np.zeros((3, 2), "datetime64[s]"), "datetime"),
    (np.zeros(3, [("a", float), ("b", float)]), "type"),
    (lambda x: x, "is a function"),
    (np.ma.masked_less(np.ones((2, 2)) * [[1], [0]], 0.5), "masked"),
    (np.full((2, 2), 2**60), "beyond 2\\^53"),
    ({"a": 1}, "objects"),
]


@pytest.mark.parametrize("data, says", BAD, ids=[s for _, s in BAD])
def test_arrays(torus, data, says: str) -> None:
    with pytest.raises(landing.ArrayError, match=says) as e:
        landing.train(torus, data)
    assert isinstance(e.value, ValueError) and isinstance(e.value, landing.DataError)
    assert not Path("runs").exists()


@pytest.mark.parametrize("kind", ["f2", "f4", ">f8", "i4", "u1", "longdouble", "F"])
def test_types_that_are_numbers(kind: str) -> None:
    a = np.arange(6.0).reshape(2, 3)
    given = np.asfortranarray(a) if kind == "F" else a.astype(kind)
    got = _arrays.numbers(given, "data")
    assert np.array_equal(got, a) and got.flags.c_contiguous and got.dtype.str in ("<f4", "<f8")
    path = Path("a.npy")
    _arrays.write(path, got)
    assert np.array_equal(_arrays.read(path), a) and [p.name for p in Path().iterdir()] == ["a.npy"]


def test_arrays_are_kept_by_content(folder: Path) -> None:
    a = np.arange(6.0).reshape(2, 3)
    kept = {_arrays.keep(x, folder, "a") for x in (a, a.copy(), a + 1e-15, a.astype("<f4"), a.reshape(3, 2))}
    assert len(kept) == 4 and np.array_equal(_arrays.read(_arrays.keep(a, folder, "a")), a)


def test_exceptions_travel(run: landing.Run) -> None:
    """Worker processes send exceptions as pickles."""
    classes = [getattr(landing, name) for name in landing.__all__]
    errors = [c for c in classes if isinstance(c, type) and issubclass(c, landing.LandingError)]
    assert len(errors) == 9
    for c in errors:
        e = c("what", code=3, kind="data", file="f", line=2, key="k", result=[1])
        back = pickle.loads(pickle.dumps(e))
        assert type(back) is c and str(back) == "what" and vars(back) == vars(e)
    for r in (None, run):
        back = pickle.loads(pickle.dumps(landing.Interrupted(r)))
        assert (back.run and back.run.path) == (r and r.path) and "interrupted" in str(back)


def test_errors_name_the_argument(torus, points: np.ndarray) -> None:
    frame = Frame({"x": points[:, 0], "y": points[:, 1], "z": [*points[:-1, 2], np.inf]})
    for call in (landing.train, landing.check):
        with pytest.raises(landing.ArrayError, match=r"^data\['z'\]\[299\] is inf; expected finite"):
            call(torus, frame)
    with pytest.raises(landing.DataError, match="^data: ") as e:
        landing.train(torus, points[:, :2])
    assert e.value.key == "data" and ".npy" not in str(e.value)
    twice = Frame({"x": points[:, 0]})
    twice.columns = ["x", "x"]
    with pytest.raises(landing.ArrayError, match="two columns named 'x'"):
        landing.train(torus, twice)


def test_a_name_is_no_path(folder: Path) -> None:
    kept = _arrays.keep(np.ones((2, 2)), folder / "data", "../../-x y")
    assert kept.parent == folder / "data" and kept.exists()


def test_more_than_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "MOST", 5)
    with pytest.raises(landing.ArrayError, match="at most 5"):
        _arrays.numbers(np.ones((3, 2)), "data")


def test_no_pickle_is_read(folder: Path) -> None:
    with open("evil.npy", "wb") as f:
        np.save(f, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        _arrays.read(Path("evil.npy"))
    Path("p.npy").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError):
        _arrays.read(Path("p.npy"))


def test_data_off_the_set(torus, points: np.ndarray) -> None:
    with pytest.raises(landing.DataError, match="tube") as e:
        landing.train(torus, points + 0.5)
    assert e.value.kind == "data" and e.value.code == 3
    with pytest.raises(landing.LandingError):
        landing.train(torus, points[:, :2])
    with pytest.raises(landing.DataError, match="no such data file"):
        landing.train(torus, "gone.npy")


@pytest.mark.parametrize("call", [
    lambda r: r.generate(0), lambda r: r.generate(-3), lambda r: r.generate(2.5), lambda r: r.generate("10"),
    lambda r: r.generate(3, first=-1), lambda r: r.generate(3, seed=-1), lambda r: r.generate(3, seed=2**64),
    lambda r: r.generate(3, first=2**64 - 2), lambda r: r.generate(3, workers=-1), lambda r: r.evaluate(0),
    lambda r: r.generate(3, workers=10**6), lambda r: r.generate(10**12), lambda r: r.generate(10**18),
], ids=str)
def test_numbers_that_make_no_sense(run: landing.Run, call) -> None:
    with pytest.raises(landing.UsageError):
        call(run)


def test_more_samples_than_memory(run: landing.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that gives more memory than it has says nothing by giving it."""
    monkeypatch.setattr(np, "empty", lambda *_: None)
    with pytest.raises(landing.UsageError, match="do not fit in memory") as e:
        run.generate(10**12)
    assert e.value.key == "n"


def test_other_faults_of_calls(run: landing.Run, torus, points: np.ndarray) -> None:
    with pytest.raises(landing.LandingError, match="checkpoint"):
        run.generate(3, checkpoint="12345678")
    with pytest.raises(landing.ProblemError) as e:
        run.generate(3, settings={"network.width": 3})
    assert e.value.key == "network.width"
    for budget in (0, -1, float("nan"), "never", "5 m", ""):
        with pytest.raises(landing.UsageError, match="^budget is .*; expected"):
            landing.train(torus, points, budget=budget)
    for given in (lambda x: x[0], [abs], "x[0] >= 0"):
        with pytest.raises(landing.UsageError, match=r"^given is .*\{'inequality': \[f\]\}"):
            run.generate(3, given=given)
    with pytest.raises(landing.LandingError, match="zero byte"):
        landing.Run.open("a\0b")
    with pytest.raises(landing.UsageError):
        landing.sample(torus, kind="list")


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.skipif(os.name == "nt", reason="scripts stand in for the program")
class TestBinary:
    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        _binary._verify.cache_clear()

    def test_a_bare_name_is_not_looked_for(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        script(folder / "sh", "#!/bin/sh\necho '{\"version\": \"v1\"}'\n")
        monkeypatch.setenv("LANDING_BINARY", "sh")
        monkeypatch.setenv("LANDING_ANY_VERSION", "1")
        assert _binary.binary() == str(folder / "sh")

    def test_missing(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LANDING_BINARY", str(folder / "gone"))
        with pytest.raises(landing.BinaryError, match="LANDING_BINARY is .*gone"):
            landing.Run.open("r")
        monkeypatch.delenv("LANDING_BINARY")
        monkeypatch.setattr(_binary, "_PACKAGED", folder / "none")
        with pytest.raises(landing.BinaryError, match="go build"):
            landing.Run.open("r")
        monkeypatch.setenv("LANDING_BINARY", str(folder))
        with pytest.raises(landing.BinaryError, match="no file"):
            landing.Run.open("r")

    def test_another_version(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fake = script(folder / "landing", "#!/bin/sh\necho '{\"version\": \"v0.0.1\"}'\n")
        monkeypatch.setenv("LANDING_BINARY", str(fake))
        monkeypatch.setattr(_binary, "BINARY_VERSION", "v9.9.9")
        monkeypatch.delenv("LANDING_ANY_VERSION", raising=False)
        with pytest.raises(landing.BinaryError, match=r"landing v0.0.1, and this package needs v9.9.9"):
            landing.Run.open("r")
        monkeypatch.setenv("LANDING_ANY_VERSION", "1")
        assert _binary.binary() == str(fake)

    @pytest.mark.parametrize("text, says", [
        ("#!/bin/sh\necho hello\n", "does not tell a version"),
        ("#!/bin/sh\nexit 3\n", "does not tell a version"),
        ("\x7fELF no program", "cannot be run"),
        ("#!/no/such/interpreter\n", "cannot be run"),
    ])
    def test_no_program(self, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
        monkeypatch.setenv("LANDING_BINARY", str(script(folder / "landing", text)))
        with pytest.raises(landing.BinaryError, match=says):
            landing.Run.open("r")

    @pytest.mark.parametrize("text, says", [
        ("kill -9 $$", "SIGKILL: perhaps"),
        ("echo 'panic: oh' >&2; exit 2", "panic: oh"),
        ("echo 'landing: unknown flag: --attended' >&2; exit 2", "older than this package"),
        ("echo '{'", "no JSON"),
        ("exit 1", "said nothing"),
    ])
    def test_crashes(self, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
        fake = script(folder / "landing", f'#!/bin/sh\n[ "$1" = version ] && echo \'{{"version": "v1"}}\' && exit\n{text}\n')
        monkeypatch.setenv("LANDING_BINARY", str(fake))
        monkeypatch.setenv("LANDING_ANY_VERSION", "1")
        with pytest.raises(landing.BinaryError, match=says):
            landing.Run.open("r")

    def test_permission_is_mended(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fake = script(folder / "landing", "#!/bin/sh\necho '{\"version\": \"v1\"}'\n")
        fake.chmod(0o644)
        monkeypatch.setenv("LANDING_BINARY", str(fake))
        monkeypatch.setenv("LANDING_ANY_VERSION", "1")
        assert _binary.binary() == str(fake) and os.access(fake, os.X_OK)


def test_exceptions_by_code() -> None:
    for fault, kind in [({"code": 2}, landing.UsageError), ({"code": 3, "kind": "problem"}, landing.ProblemError),
                        ({"code": 3, "kind": "run"}, landing.DataError), ({"code": 4}, landing.CheckError),
                        ({"code": 5}, landing.DivergedError), ({"code": 1, "kind": "write"}, landing.LandingError)]:
        e = of({**fault, "message": "m", "line": 3})
        assert type(e) is kind and e.line == 3 and str(e) == "m" and e.code == fault["code"]
    assert str(of({})) == "failed without a message"


@pytest.mark.parametrize("flags, arguments", [
    ("--workers is 9999; expected 0 to 1024", "workers is 9999; expected 0 to 1024"),
    ("--hide-condition is of a run", "hide_condition is of a run"),
    ("--for says what --set train.max_seconds says", "budget says what settings={'train.max_seconds': …} says"),
    ("--set train.epochs=-3: train.epochs is -3", "settings: train.epochs is -3"),
    ("gone; --data FILE says where it is now", "gone; data=FILE says where it is now"),
    ("not written over without --force", "not written over without force=True"),
    ("--set process.walls=elastic helps", "settings={'process.walls': 'elastic'} helps"),
    ("landing init a.csv --clean b.csv, or --data c", "landing init a.csv --clean b.csv, or data c"),
    ("a - b and x--y", "a - b and x--y"),
])
def test_messages_name_arguments(flags: str, arguments: str) -> None:
    e = of({"message": flags, "code": 2})
    assert str(e) == arguments and e.key in (None, arguments.split()[0])
    assert (e.key is None) == (flags[:2] != "--" or flags.startswith("--set"))


def test_interrupted_ends_python_as_ctrl_c_does() -> None:
    ends = [subprocess.run([sys.executable, "-c", f"import landing; {code}"], capture_output=True, text=True, check=False)
            for code in ("raise landing.Interrupted()", "landing.Interrupted(); 1/0")]
    assert [e.returncode for e in ends] == [130, 1] and "landing.Interrupted: interrupted" in ends[0].stderr


def test_command(tmp_path: Path) -> None:
    """python -m landing is the binary: its output, its exit codes."""
    def landing_(*args: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-m", "landing", *args], capture_output=True, text=True, check=False)

    assert landing_("version").stdout.startswith("landing version")
    told = landing_("show", "gone")
    assert told.returncode == 3 and "no such run folder" in told.stderr
    told = subprocess.run([sys.executable, "-m", "landing"], capture_output=True, text=True, check=False,
                          env={**os.environ, "LANDING_BINARY": str(tmp_path / "gone")})
    assert told.returncode == 1 and told.stderr.startswith("landing: LANDING_BINARY")


def test_command_does_not_wait_for_numpy() -> None:
    code = "import sys, landing.__main__; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
