"""Runs: training, samples, how good they are, pictures."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from . import _arrays
from ._arrays import Array
from ._errors import ArrayError, CheckError, DataError, Interrupted, LandingError, UsageError, called
from ._problem import Problem, given_file, settings_options
from ._process import OUT_OF_TIME, Event, call, log, warn
from ._progress import Bar
from ._results import Finding, Grade, Metric, Remedy, Verdict, record, table

__all__ = ["Evaluation", "Figure", "Finding", "Metric", "Remedy", "Run", "Verdict", "train"]

# The binary holds at most so many numbers at once; longer calls are cut.
_MOST_NUMBERS = 100_000_000
_MOST_UINT64 = 2**64 - 1

Settings = Mapping[str, Any]
Condition = Mapping[str, float] | Array | str | os.PathLike[str]


def train(
    problem: Problem | str | os.PathLike[str],
    data: Any = None,
    *,
    out: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] = "runs",
    settings: Settings | None = None,
    budget: float | str | None = None,
    max_time: float | str | None = None,
    progress: bool | None = None,
    workers: int = 0,
    force: bool = False,
) -> Run:
    """Trains a model on a problem and returns its run.

    Ctrl-C ends the training with a checkpoint and raises Interrupted, a KeyboardInterrupt, whose
    .run goes on with .resume().

    Args:
        problem: a Problem, or the path of a problem file.
        data: points, n×d (molecules also n×atoms×3), a condition behind them; or the path of a data file; or
            None for what the problem says. An array is kept as an NPY file under runs/data, since evaluating
            and going on need it.
        out: the run folder to make, instead of the first free NAME-001, NAME-002, … under runs.
        settings: keys of the problem to replace, as {"train.epochs": 500}.
        budget: train so long: seconds, or "5m", "1h30m". The plan is made for it.
        max_time: stop after so long, as by Ctrl-C but without an exception: run.state is then "interrupted".
        progress: show a bar. None: in terminals and notebooks.
        workers: threads; 0: one a core. Results do not depend on it.
        force: move a run that is in `out` aside.

    Raises:
        LandingError: by its kind: ProblemError, DataError, CheckError, DivergedError, …
    """
    p = _problem(problem)
    options = [f"--runs={os.fspath(runs)}", f"--workers={_whole(workers, 'workers')}", *settings_options(settings)]
    file = None if data is None else _data(data, Path(runs) / "data", p.name, p._text())
    if file is not None:
        options.append(f"--data={file}")
    options += [*_named("out", out), *["--force"] * force, *_times(budget, max_time)]
    with p._written() as (source, more), _given(data, file):
        return _fit(["train"], options + more, source, progress)


ENGINE: ContextVar[list[str]] = ContextVar("engine", default=[])  # flags by which landing.torch trains


def _fit(verb: list[str], options: list[str], source: str, progress: bool | None) -> Run:
    """Trains with a bar, and keeps hold of the run if it is interrupted."""
    folder: list[str] = []

    with Bar("training", "epoch", progress) as bar:

        def listen(event: Event) -> None:
            if event["event"] == "run":
                folder.append(str(event["run"]))
            bar(event)

        try:
            call(verb, [*options, *ENGINE.get()], [source], on_event=listen, accept=[OUT_OF_TIME])
        except KeyboardInterrupt:
            bar.close()
            raise Interrupted(_kept(folder)) from None
    if not folder:  # max_time
        raise LandingError("the time was over before the training began", code=OUT_OF_TIME, kind="time")
    return Run.open(folder[-1])


def _kept(folder: list[str]) -> Run | None:
    try:
        return Run.open(folder[-1]) if folder else None
    except DataError:  # interrupted before the folder was a run
        return None


class Run:
    """A run folder: what a training has left, and what it can draw. Run.open(path) opens one."""

    def __init__(self, path: Path, shown: dict[str, Any]) -> None:
        """Is for Run.open alone."""
        self.path = path
        self._shown = shown

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Run:
        """Opens a run folder.

        Raises:
            DataError: there is none at the path, or it is damaged.
        """
        folder = Path(path).absolute()
        shown, _ = call(["show"], [], [folder])
        return cls(folder, shown)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self.state}, epoch {self.epoch})"

    def _repr_html_(self) -> str:
        rows = [("folder", str(self.path)), ("state", f"{self.state}, epoch {self.epoch}"), ("dimension", str(self.dim))]
        losses = [m.loss for m in self.metrics() if m.kind == "epoch" and m.loss is not None]
        return table([], rows + [("loss", f"{losses[-1]:.4g}")] * bool(losses))

    def refresh(self) -> Run:
        """Reads again how far the training is, and returns the run."""
        self._shown, _ = call(["show"], [], [self.path])
        return self

    @property
    def state(self) -> str:
        """training, trained, interrupted or failed."""
        return str(self._shown["status"].get("state", "unknown"))

    @property
    def epoch(self) -> int:
        """Epochs that were trained."""
        return int(self._shown["status"].get("epoch", 0))

    @property
    def manifest(self) -> dict[str, Any]:
        """What ran, where, on which data, and which keys were chosen and why."""
        return dict(self._shown["manifest"])

    @property
    def config(self) -> str:
        """Every key, as YAML."""
        return str(self._shown["config"])

    @property
    def checkpoints(self) -> list[str]:
        """Names of the checkpoints, oldest first."""
        return list(self._shown["checkpoints"] or [])

    @property
    def dim(self) -> int:
        """Numbers of a point of the set, a condition among them."""
        return int(self._shown["manifest"]["data"]["dim"])

    def metrics(self) -> list[Metric]:
        """What was logged of each epoch and evaluation, in order."""
        self._there()
        try:
            text = (self.path / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        out: list[Metric] = []
        for line in text.splitlines():
            try:
                logged = json.loads(line)
            except ValueError:  # the last line of a training that is at work
                continue
            out.append(record(Metric, {"kind": logged.get("kind"), **(logged.get("data") or {})}))
        return out

    def tensorboard(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Writes metrics() as events for TensorBoard into a folder (None: "tensorboard" of the run folder) and returns it.

        Tags are kind/field, such as epoch/loss; the step is the epoch, and the time the seconds of training. Of the
        worst values of components it has the largest. Events of earlier calls for this run are replaced, so that a call
        during training shows how far it is.

        Raises UsageError if tensorboard is not installed.
        """
        try:
            events, values, files = (importlib.import_module("tensorboard." + name) for name in (
                "compat.proto.event_pb2", "compat.proto.summary_pb2", "summary.writer.event_file_writer"))
        except ImportError:
            raise UsageError("tensorboard is not installed: pip install tensorboard") from None
        to = self.path / "tensorboard" if folder is None else Path(folder)
        metrics, ending, clock = self.metrics(), f".{self.path.name}.landing", 0.0
        for earlier in [f for f in to.glob("events.out.tfevents.*") if f.name.endswith(ending)]:
            earlier.unlink()
        writer = files.EventFileWriter(str(to), filename_suffix=ending)
        for metric in metrics:
            of = dataclasses.asdict(metric)
            clock += metric.seconds or 0 if metric.kind == "epoch" else 0
            for field in of.keys() - {"kind", "epoch"}:
                v = max(of[field], default=None) if isinstance(of[field], list) else of[field]
                if isinstance(v, (int, float)):
                    tag = values.Summary.Value(tag=f"{metric.kind}/{field}", simple_value=v)
                    summary = values.Summary(value=[tag])
                    writer.add_event(events.Event(step=metric.epoch or 0, wall_time=clock, summary=summary))
        writer.close()
        return to

    def resume(
        self,
        *,
        settings: Settings | None = None,
        budget: float | str | None = None,
        max_time: float | str | None = None,
        data: Any = None,
        checkpoint: str | None = None,
        progress: bool | None = None,
        workers: int = 0,
    ) -> Run:
        """Goes on with the training, bit for bit as if it had not stopped, and returns the run.

        Args:
            settings: keys to go on with, as {"train.epochs": 2000}: a run is then trained longer.
            budget: train so much longer.
            max_time, progress, workers: as in train.
            data: the run's data, if its file is gone: an array is kept beside the run.
            checkpoint: to go on from; None: the newest.

        Raises:
            LandingError: as in train. DataError: the data or the checkpoint are others than the run's.
        """
        options = [*self._options(workers, data, checkpoint, settings), *_times(budget, max_time)]
        if not self.path.is_dir():
            self.refresh()  # raises the error of a folder that is gone
        try:
            self._shown = _fit(["train"], options, str(self.path), progress)._shown
        except Interrupted as e:
            self.refresh()
            raise Interrupted(self) from e
        return self

    def generate(
        self,
        n: int = 1000,
        *,
        seed: int | None = None,
        first: int = 0,
        condition: Condition | None = None,
        given: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        checkpoint: str | None = None,
        data: Any = None,
        progress: bool | None = None,
        workers: int = 0,
    ) -> Array:
        """Draws samples: an array of float64, n×d (molecules n×atoms×3, motions of an arm n×waypoints×coordinates).

        Sample number i is a function of the seed and i alone, whatever n and first are.

        Args:
            n: how many; under several conditions, of each.
            seed: None: the problem's.
            first: number of the first sample.
            condition: of a run with a condition: values by name; or an array with a row for each; or a file with
                them. Samples then hold the condition behind the point.
            given: constraints and observations that training did not know: a YAML file, or its keys, as
                {"inequality": [{"name": "top", "expr": "x[0] >= 0.5"}]}, or functions: {"inequality": [f]}. Samples then depend on each other and on n.
            settings: keys of generation to draw by, as {"process.steps": 25}.
            checkpoint: None: the best by held-out distances, or the newest.
            data: the run's data, if its file is gone and the folder does not keep what generation needs.
            progress, workers: as in train.

        Warns:
            LandingWarning: samples failed and are left out: which.

        Raises:
            CheckError: more samples failed, or violate more, than the run allows; .result holds the others. Or few
                samples are effective under given.
        """
        n, first = _whole(n, "n", 1), _whole(first, "first", 0)
        if first + n > _MOST_UINT64:
            raise UsageError(f"first is {first}; samples are numbered by 64 bits", key="first")
        options = self._options(workers, data, checkpoint, settings, seed)
        with self._asked(condition) as asked, TemporaryDirectory(prefix="landing-") as folder:
            # Under one condition, or none, the numbers of samples are those of the call: it can be cut.
            each = n if condition is not None or given is not None else max(1, _MOST_NUMBERS // self.dim)
            if isinstance(given, str) and not Path(given).is_file() or not isinstance(given, (str, os.PathLike, Mapping, type(None))):
                raise UsageError(f"given is {given!r:.80}; expected a file, or a dict such as {{'inequality': [f]}}, which keeps "
                                 "samples with f(x) <= 0", key="given")
            if isinstance(given, Mapping):  # JSON is YAML
                file = Path(folder) / "given.yaml"
                names = self.condition_names
                file.write_text(given_file(given, self.config, self.dim - len(names), names), encoding="utf-8")
                given = file
            if given is not None:
                options.append(f"--given={os.fspath(given)}")
            self._room(n)
            parts: list[Array] = []
            with Bar("generating", "sample", progress, total=None if condition is not None else n) as bar:
                for done in range(0, n, each):
                    count = min(each, n - done)
                    bar.offset = done
                    out = Path(folder) / "samples.npy"
                    try:
                        with called(Path(folder) / "given.yaml", "given"):
                            told, _ = call(["generate"], [*options, *asked, f"--number={count}", f"--first={first + done}",
                                                          f"--output={out}", "--force"], [self.path], on_event=bar)
                    except CheckError as e:
                        if out.exists():
                            e.result = _joined([*parts, _arrays.read(out)])
                        raise
                    if drawn := told.get("given"):
                        effective = (drawn.get("particles") or {}).get("effective_samples", count)
                        log.info("law: %s; %.0f effective samples, drawn by %s", drawn["law"], effective, drawn["by"])
                    if told["failed"]:
                        lost = ", ".join(map(str, told["failed_samples"][:10]))
                        warn(f"{told['failed']} of {told['samples']} samples failed and are left out: numbers {lost}"
                             + (", …" if told["failed"] > 10 else ""))
                    parts.append(_arrays.read(out))
        return _joined(parts)

    def evaluate(
        self,
        n: int | None = None,
        *,
        samples: Any = None,
        seed: int | None = None,
        settings: Settings | None = None,
        checkpoint: str | None = None,
        data: Any = None,
        progress: bool | None = None,
        workers: int = 0,
    ) -> Evaluation:
        """Compares samples with the data: whether they are good, what is wrong with them and what mends it.

        Args:
            n: samples to draw; None: as many as data points.
            samples: an array of samples to judge instead of drawing any.
            seed, settings, checkpoint, progress, workers: as in generate.
            data: the run's data, if its file is gone.

        Raises:
            CheckError: more samples failed, or violate more, than the run allows; .result is the Evaluation.
            ArrayError, DataError: samples that cannot be used, or data that are gone.
        """
        options = self._options(workers, data, checkpoint, settings, seed, n)
        with TemporaryDirectory(prefix="landing-") as folder, Bar("evaluating", "sample", progress) as bar:
            if samples is not None:
                if n is not None or seed is not None or settings or checkpoint:
                    raise UsageError("samples are drawn already; expected no n, seed, settings or checkpoint with them")
                file = Path(folder) / "samples.npy"
                _arrays.write(file, _arrays.numbers(self._ordered(samples), "samples"))
                options.append(f"--samples={file}")
            try:
                with called(Path(folder) / "samples.npy", "samples"):
                    told, _ = call(["report"], ["--text", *options], [self.path], on_event=bar)
            except CheckError as e:
                if isinstance(e.result, dict):
                    e.result = Evaluation(e.result)
                raise
        return _judged(Evaluation(told))

    def report(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        checkpoint: str | None = None,
        data: Any = None,
        progress: bool | None = None,
        workers: int = 0,
        force: bool = False,
    ) -> Path:
        """Draws and judges samples, writes figures and report.html into the run folder, and returns its path.

        An earlier report is replaced; one that was changed since, only with force. Raises what evaluate raises.
        """
        options = [*["--force"] * force, *self._options(workers, data, checkpoint, None, seed, n)]
        with Bar("reporting", "sample", progress) as bar:
            told, _ = call(["report"], options, [self.path], on_event=bar)
        return Path(told["report"])

    def figures(self) -> list[str]:
        """Names of the pictures that a report has left."""
        self._there()
        return sorted(p.stem for p in (self.path / "figures").glob("*.png"))

    def figure(self, name: str | None = None, *, refresh: bool = False) -> Figure:
        """Returns a picture of the run, which notebooks show.

        Args:
            name: one of figures(); None: the picture of data beside samples, such as a map.
            refresh: make the report anew; it is made if there is none.

        Raises:
            UsageError: there is no such figure: the names.
        """
        if refresh or not self.figures():
            self.report()
        names = self.figures()
        if name is None:
            both = ("map", "surface", "torsions", "plane", "points", "space")  # data beside samples
            dull = ("loss", "rate", "violation", "jsd", "held-out", "nearest", "steps")
            name = next((f for f in [*both, *names] if f in names and not f.startswith(dull)), names[0])
        if name not in names:
            raise UsageError(f"there is no figure {name!r}; expected one of {', '.join(names)}", key="name")
        return Figure(self.path / "figures" / f"{name}.png")

    def push_to_hub(
        self, repo_id: str, *, license: str | None = None, private: bool = False, token: str | None = None  # noqa: A002
    ) -> str:
        """Uploads the run to a repository of the Hugging Face hub, and returns its address. Needs huggingface_hub.

        The repository gets a model card, the network as ONNX and safetensors, and the run folder, from which
        from_pretrained draws. Samples, figures and the data stay here, but an empirical prior is made from the data.

        Args:
            repo_id: such as "name/torus"; it is made if there is none.
            license: of the weights, as an SPDX identifier; private, token: as huggingface_hub has them.

        Raises:
            UsageError: huggingface_hub is not installed. What huggingface_hub raises comes as it is.
        """
        hub = _hub()
        if not (self.path / "report.html").exists():
            self.report()  # the card has its figures
        with TemporaryDirectory(prefix="landing-") as folder:
            page = Path(folder) / "page"
            call(["export"], [f"--hub={page}", *_named("license", license)], [self.path])
            shutil.copytree(self.path, page / "run", ignore=shutil.ignore_patterns(
                "samples.*", "figures", "report*", "drawn", "tensorboard", ".*"))
            api = hub.HfApi(token=token)
            address = str(api.create_repo(repo_id, private=private, exist_ok=True))
            api.upload_folder(repo_id=repo_id, folder_path=str(page), commit_message=f"landing run {self.path.name}")
        return address

    @classmethod
    def from_pretrained(
        cls, repo_id: str, *, revision: str | None = None, token: str | None = None, runs: str | os.PathLike[str] = "runs"
    ) -> Run:
        """Downloads a run that push_to_hub uploaded into a folder under runs, and opens it; or opens a run folder here.

        Raises DataError if the folder exists or the repository holds no run, UsageError without huggingface_hub.
        """
        if Path(repo_id).is_dir():
            return cls.open(repo_id)
        folder = Path(runs) / repo_id.replace("/", "--")
        if folder.exists():
            raise DataError(f"{folder} exists; Run.open({str(folder)!r}) opens it, and runs= names another place", kind="exists")
        got = Path(_hub().snapshot_download(repo_id, revision=revision, token=token, allow_patterns=["run/*"])) / "run"
        if not got.is_dir():
            raise DataError(f"{repo_id} holds no run: it was not uploaded by push_to_hub", kind="run")
        shutil.copytree(got, folder)  # the hub's cache holds links
        return cls.open(folder)

    def network(self, checkpoint: str | None = None) -> dict[str, Any]:
        """Says which network was trained, how it is read as a score, and where its weights are (docs/exports.md)."""
        told, _ = call(["export"], ["--network", *_named("checkpoint", checkpoint)], [self.path])
        file = Path(told["file"])
        return {**told, "file": str(file if file.is_absolute() else Path.cwd() / file)}

    def score(
        self,
        x: Any,
        p: Any = None,
        t: Any = None,
        *,
        checkpoint: str | None = None,
        precision: str = "float32",
        hide_condition: bool = False,
    ) -> Array:
        """Evaluates the score network in the binary: an array of float64, n×d.

        Args:
            x: points, n×d, a condition behind them.
            p: momenta, n×d; None of overdamped processes, which have none.
            t: times, n or one for all, in the process's unit; those of the process are network()["times"].
            checkpoint: None: the best by held-out distances, or the newest.
            precision: of the products: float32, bfloat16x3 or bfloat16.
            hide_condition: what the network says without its condition, if it can do without.

        Raises:
            UsageError, ArrayError, DataError: an argument, by its name.
        """
        if t is None:
            raise UsageError("there is no time t at which the score is asked for", key="t")
        points = _arrays.numbers(x, "x").astype(float)
        points = points.reshape(len(points), -1)
        columns = [points]
        if p is not None:
            momenta = _arrays.numbers(p, "p").astype(float)
            if momenta.size != points.size or len(momenta) != len(points):
                raise ArrayError(f"p has shape {momenta.shape}; expected that of x, {points.shape}")
            columns.append(momenta.reshape(points.shape))
        times = _arrays.numbers(t, "t", least=0).astype(float).ravel()
        if len(times) not in (1, len(points)):
            raise ArrayError(f"t has {len(times)} numbers; expected 1, or {len(points)}: one for each point")
        columns.append(np.broadcast_to(times[:, None], (len(points), 1)))
        with TemporaryDirectory(prefix="landing-") as folder:
            rows, out = Path(folder) / "rows.npy", Path(folder) / "scores.npy"
            _arrays.write(rows, np.hstack(columns))
            options = [f"--scores={rows}", f"--output={out}", f"--precision={precision}", *_named("checkpoint", checkpoint)]
            if hide_condition:
                options.append("--hide-condition")
            with called(rows, "rows (x, p, t)"):
                call(["export"], options, [self.path])
            return _arrays.read(out)

    @property
    def condition_names(self) -> list[str]:
        """Names of the numbers that are given with a point; none of a run without a condition."""
        self._there()
        try:
            told = json.loads((self.path / "condition.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        return list(told["Names"])

    def _ordered(self, samples: Any) -> Any:
        """Returns a frame of samples with the condition, by its names, behind the point."""
        samples = _arrays.ordered(samples, self.config, "samples")
        columns, given = _arrays.names(samples), self.condition_names
        if columns is None or not given:
            return samples
        if missing := [name for name in given if name not in columns]:
            raise ArrayError(f"samples has no column {missing[0]!r}, of the run's condition {', '.join(given)}")
        return samples[[name for name in columns if name not in given] + given]

    def _room(self, n: int) -> None:
        """Refuses a call whose samples would not fit in memory when all is done."""
        size = 8 * n * self.dim
        try:
            fits = size <= _memory()
            if fits:
                np.empty((n, self.dim))
        except (MemoryError, ValueError):
            fits = False
        if not fits:
            raise UsageError(f"n is {n}: {1e-9 * size:.3g} GB of samples do not fit in memory; first= draws them in parts",
                             key="n") from None

    def _there(self) -> None:
        if not self.path.is_dir():
            raise DataError(f"{self.path}: there is no such run folder", code=3, kind="run", file=str(self.path))

    def _options(self, workers: int, data: Any, checkpoint: str | None, settings: Settings | None,
                 seed: int | None = None, n: int | None = None) -> list[str]:
        options = [f"--workers={_whole(workers, 'workers')}", *settings_options(settings), *_named("checkpoint", checkpoint)]
        if data is not None:
            options.append(f"--data={_data(data, self.path.parent / 'data', self.path.name, self.config)}")
        if seed is not None:
            options.append(f"--seed={_whole(seed, 'seed', 0, _MOST_UINT64)}")
        if n is not None:
            options.append(f"--number={_whole(n, 'n', 1)}")
        return options

    @contextmanager
    def _asked(self, condition: Condition | None) -> Iterator[list[str]]:
        """Gives the options that name a condition: values go as an NPY file."""
        if condition is None:
            yield []
            return
        if isinstance(condition, (str, os.PathLike)):
            yield [f"--condition={os.fspath(condition)}"]
            return
        names = self.condition_names
        columns = _arrays.names(condition)
        if columns is not None:
            condition = cast("Mapping[str, Any]", {name: np.asarray(condition[name]) for name in columns})
        if isinstance(condition, Mapping):
            if sorted(condition) != sorted(names):
                has = ", ".join(names) or "none: its samples are drawn without one"
                raise UsageError(f"condition names {', '.join(map(str, condition))}; the condition of the run is {has}",
                                 key="condition")
            condition = np.stack(np.broadcast_arrays(*(np.atleast_1d(condition[name]) for name in names)), axis=-1)
        rows = _arrays.numbers(np.atleast_2d(np.asarray(condition)), "condition", width=len(names) or None)
        with TemporaryDirectory(prefix="landing-") as folder:
            file = Path(folder) / "condition.npy"
            _arrays.write(file, rows)
            with called(file, "condition"):
                yield [f"--condition={file}"]


class Evaluation(Mapping[str, Any]):
    """How good samples are: all that `landing report --text --json` tells, as a mapping; notebooks show a table.

    docs/verdict.md says what findings mean, docs/glossary.md what the numbers are.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = told

    def __getitem__(self, key: str) -> Any:
        return self._told[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)

    @property
    def grade(self) -> Grade:
        """The verdict: good, usable (with remarks), not good, or not decided where too little could be seen."""
        grade: Grade = self._told["verdict"]["grade"]
        return grade

    @property
    def good(self) -> bool:
        """Nothing is wrong with the samples, as far as the data can tell."""
        return self.grade == "good"

    @property
    def findings(self) -> list[Finding]:
        """What was found, faults before remarks, the largest effect first."""
        return [record(Finding, {**f, "remedy": record(Remedy, f["remedy"]) if f.get("remedy") else None})
                for f in self._told["verdict"]["findings"] or []]

    @property
    def verdict(self) -> Verdict:
        """Grade, findings and limits in one."""
        return Verdict(self.grade, self.findings, self.limits)

    @property
    def limits(self) -> str:
        """What limits the result where nothing more is offered; empty if something is."""
        return str(self._told["verdict"].get("limits", ""))

    @property
    def distance(self) -> float:
        """Distance of the samples to all data; NaN where none is defined."""
        return _number(self._compared().get("full"))

    @property
    def floor(self) -> float:
        """What as many draws from the training rows score: no sampler is much below."""
        return _number(self._compared().get("floor"))

    @property
    def violation(self) -> float:
        """The worst violation of a constraint."""
        return _number((self._told.get("violation") or {}).get("worst"))

    def _compared(self) -> dict[str, Any]:
        return self._told.get("jsd") or self._told.get("observed") or {}

    def _rows(self) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = [("verdict", self.grade)]
        rows += [(f.code, f.says + (f" → {f.remedy.call}" if f.remedy else "")) for f in self.findings]
        rows += [("not judged", f"{n['code']}: {n['why']}") for n in self._told["verdict"].get("not_judged") or []]
        rows.append(("samples", f"{self['samples']}, {self['failed']} failed"))
        if self._compared():
            rows.append((str(self._compared().get("metric", "distance")), f"{self.distance:.4f}, floor {self.floor:.4f}"))
        rows.append(("worst violation", f"{self.violation:.2g}"))
        return rows

    def __repr__(self) -> str:
        return "\n".join(f"{a}: {b}" for a, b in self._rows())

    def _repr_html_(self) -> str:
        return table([], self._rows())


def _judged(e: Evaluation) -> Evaluation:
    """Warns of samples that are not good."""
    if e.grade == "not good":
        warn(f"the samples are not good: {e.findings[0].code}: {e.findings[0].says}")
    return e


class Figure:
    """A picture of a run. Notebooks show it; .png and .svg are its bytes, .path its file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.png = path.read_bytes()

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.path.with_suffix(".svg").read_text(encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a copy, as SVG if the name says so, else as PNG."""
        path = Path(path)
        if path.suffix.lower() == ".svg":
            path.write_text(self.svg, encoding="utf-8")
        else:
            path.write_bytes(self.png)

    def __repr__(self) -> str:
        return f"Figure({str(self.path)!r})"

    def _repr_png_(self) -> bytes:
        return self.png


def _problem(problem: Problem | str | os.PathLike[str]) -> Problem:
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, (str, os.PathLike)):
        return Problem.from_yaml(problem)
    raise UsageError(f"expected a Problem or the path of a problem file, not {problem!r:.60}",
                     key="problem")


def _data(data: Any, folder: Path, name: str, problem: str) -> str:
    """Returns the path of a data file: an array is kept in folder."""
    if isinstance(data, (str, os.PathLike)):
        path = Path(data).absolute()
        if not path.is_file():
            raise DataError(f"{path}: there is no such data file", file=str(path), kind="data", code=3)
        return str(path)
    return str(_arrays.stored(data, "data", folder.absolute(), name, problem))


def _given(data: Any, file: str | None) -> AbstractContextManager[None]:
    """Has errors about the file of an array speak of the argument data."""
    return called(file, "data") if file is not None and not isinstance(data, (str, os.PathLike)) else nullcontext()


def _hub() -> Any:
    try:
        return importlib.import_module("huggingface_hub")
    except ImportError:
        raise UsageError("huggingface_hub is not installed: pip install huggingface_hub") from None


def _memory() -> float:
    """Returns the bytes of memory of this machine; infinity where the system does not say. Some give more than they have."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return math.inf


def _named(option: str, value: str | os.PathLike[str] | None) -> list[str]:
    return [] if value is None else [f"--{option}={os.fspath(value)}"]


def _whole(value: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    try:
        whole = int(value.__index__())
    except (AttributeError, TypeError):
        raise UsageError(f"{what} is {value!r}; expected a whole number", key=what) from None
    if not least <= whole <= most:
        raise UsageError(f"{what} is {whole}; expected a whole number from {least} to {most}", key=what)
    return whole


def _times(budget: float | str | None, max_time: float | str | None) -> list[str]:
    """Returns options of durations: seconds, or text such as 1h30m."""
    out = []
    for name, option, value in (("budget", "for", budget), ("max_time", "timeout", max_time)):
        if value is None:
            continue
        if not (re.fullmatch(r"(\d+\.?\d*(h|m|s|ms))+", value) if isinstance(value, str) else 1 <= value < math.inf):
            raise UsageError(f"{name} is {value!r}; expected seconds from 1 on, or text such as '5m'", key=name)
        value = value if isinstance(value, str) else f"{float(value):.9f}s"
        out.append(f"--{option}={value}")
    return out


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
