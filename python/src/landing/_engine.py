"""PyTorch as the engine of a training: landing.torch.fit.

The program simulates the rows, ahead of the steps that use them, and keeps rates, checkpoints and the stopping rule.
This module computes loss and gradient of each batch and moves the weights. Both speak over a socket: package
learn/train of the sources lists the messages. The loss of a batch is

    Σ w/2 ‖u − c Π F(x, p, t)‖²,   Π = I − QᵀQ,

with the network's output F and an orthonormal basis Q of the normals of the set.
"""

from __future__ import annotations

import collections
import itertools
import json
import math
import os
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor

from . import _run
from ._errors import LandingError, UsageError
from ._process import call, log
from ._run import Run, train
from .torch import _KINDS, Score

Arrays = dict[str, Tensor]

PREFIXES = ("raw.", "average.", "adam_m.", "adam_v.")
_WARM, _MOST_RECORDED = 3, 8  # steps before one is recorded as a CUDA graph, and graphs
GRAPHS = True
_ROOM = 8  # batches that wait on a process of rank 1 or higher
_DTYPES = {"F64": torch.float64, "F32": torch.float32, "I64": torch.int64}


def fit(what: Any, data: Any, device: str | torch.device | None, precision: str, options: dict[str, Any]) -> Run:
    """Does what landing.torch.fit says."""
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("landing.torch.fit needs Unix sockets, which Python has not on Windows; use WSL")
    if precision not in ("float32", "tf32", "bfloat16"):
        raise UsageError(f"precision is {precision!r}; expected float32, tf32 or bfloat16", key="precision")
    with _group(_device(device)) as (rank, size, where), _products(precision):
        engine = _Engine(rank, size, where, precision)
        if rank > 0:
            return engine.follow(options.get("workers", 0))
        source = _Source(f"0 {size} 0 0 0", where)
        thread = threading.Thread(target=engine.serve, args=(source,), daemon=True)
        thread.start()
        token = _run.ENGINE.set([f"--engine={source.path}"])
        try:
            if isinstance(what, Run) or isinstance(what, (str, os.PathLike)) and Path(what).is_dir():
                run = what if isinstance(what, Run) else Run.open(what)
                return run.resume(data=data, **options)
            return train(what, data, **options)
        except LandingError as e:
            if engine.fault is None:
                raise
            if isinstance(engine.fault, LandingError):
                raise engine.fault from None
            raise LandingError(f"{type(engine.fault).__name__}: {engine.fault}", code=1) from engine.fault or e
        finally:
            _run.ENGINE.reset(token)
            source.close()
            thread.join()


def _device(device: str | torch.device | None) -> torch.device:
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        where = torch.device(device)
    except RuntimeError as e:
        raise UsageError(f"device is {device!r}: {str(e).splitlines()[0]}", key="device") from None
    if where.type not in ("cuda", "cpu"):
        raise UsageError(f"device is {device!r}; expected cuda or cpu: rows are read in float64", key="device")
    if where.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device is {device!r}, and PyTorch {torch.__version__} sees no GPU; device='cpu' works "
                         "anywhere", key="device")
    if where.type == "cuda" and where.index is None:
        where = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    return where


@contextmanager
def _group(device: torch.device) -> Iterator[tuple[int, int, torch.device]]:
    """Joins the processes of torchrun, if it has started this one."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield 0, 1, device
        return
    mine = not dist.is_initialized()
    if mine:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield dist.get_rank(), dist.get_world_size(), device
    finally:
        if mine:
            dist.destroy_process_group()


@contextmanager
def _products(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class _Wire:
    """Messages over a socket: safetensors, each behind its length."""

    def __init__(self, conn: socket.socket) -> None:
        self.conn = conn

    def send(self, op: str, arrays: Arrays | None = None, **about: object) -> None:
        header: dict[str, Any] = {"__metadata__": {"op": op, **{k: str(v) for k, v in about.items()}}}
        body, end = [], 0
        for name, a in (arrays or {}).items():
            raw = a.detach().cpu().contiguous().numpy()
            kind = "F64" if raw.dtype.itemsize == 8 else "F32"
            header[name] = {"dtype": kind, "shape": list(raw.shape), "data_offsets": [end, end + raw.nbytes]}
            body.append(raw.tobytes())
            end += raw.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        whole = b"".join([len(text).to_bytes(8, "little"), text, *body])
        self.conn.sendall(len(whole).to_bytes(8, "little") + whole)

    def receive(self) -> tuple[dict[str, str], Arrays]:
        size = int.from_bytes(self._read(8), "little")
        raw = self._read(size)
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        about = header.pop("__metadata__")
        arrays = {}
        for name, e in header.items():
            count, kind = math.prod(e["shape"]), _DTYPES[e["dtype"]]
            a = torch.frombuffer(raw, dtype=kind, count=count, offset=8 + length + e["data_offsets"][0]) if count else \
                torch.empty(0, dtype=kind)
            arrays[name] = a.reshape(e["shape"])
        return about, arrays

    def _read(self, size: int) -> bytearray:
        raw = bytearray(size)
        view, at = memoryview(raw), 0
        while at < size:
            got = self.conn.recv_into(view[at:])
            if got == 0:
                raise EOFError
            at += got
        return raw


class _Source:
    """The connection to a program that makes rows. The program is given the path of its socket."""

    def __init__(self, hello: str, device: torch.device, room: int = 0) -> None:
        self.hello, self.device = hello, device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self.rows: queue.Queue[Any] = queue.Queue(room)  # (turn, epoch, step), arrays, when they are on the device
        self.orders: queue.Queue[Any] = queue.Queue()
        self.head: Any = None
        self.fault: BaseException | None = None
        self.closed = False
        self.wire: _Wire | None = None
        self.folder = TemporaryDirectory(prefix="landing-")
        self.path = Path(self.folder.name) / "engine"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(1)
        self.listener.settimeout(0.1)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Ends the connection, by which the program ends."""
        self.closed = True
        if self.wire is not None:
            try:
                self.wire.conn.shutdown(socket.SHUT_RDWR)
            except OSError:  # the other end is gone
                pass
        self.thread.join()
        self.listener.close()
        self.folder.cleanup()

    def _read(self) -> None:
        """Takes in what the program sends. Rows go to the device at once."""
        try:
            while self.wire is None and not self.closed:
                try:
                    self.wire = _Wire(self.listener.accept()[0])
                except TimeoutError:
                    continue
                self.wire.conn.setblocking(True)
                self.wire.send("hello", at=self.hello)
            while self.wire is not None and not self.closed:
                about, arrays = self.wire.receive()
                if about["op"] == "rows":
                    self._put((tuple(map(int, about["at"].split())), *self._upload(arrays)))
                else:
                    self.orders.put((about, arrays))
        except (OSError, EOFError):
            pass
        except BaseException as e:
            self.fault = e
        finally:
            self.closed = True
            self.orders.put(None)

    def _upload(self, arrays: Arrays) -> tuple[Arrays, Any]:
        if self.stream is None:
            return arrays, None
        with torch.cuda.stream(self.stream):
            moved = {k: v.to(self.device) for k, v in arrays.items()}
            return moved, self.stream.record_event()

    def _put(self, item: Any) -> None:
        while not self.closed:
            try:
                return self.rows.put(item, timeout=0.1)
            except queue.Full:
                pass

    def peek(self) -> tuple[int, int, int]:
        """Waits for rows and returns their turn, epoch and step."""
        while self.head is None:
            try:
                self.head = self.rows.get(timeout=0.1)
            except queue.Empty:
                if self.closed and self.rows.empty():
                    raise self.fault or EOFError("the program that simulates the rows has ended") from None
        at: tuple[int, int, int] = self.head[0]
        return at

    def next(self, turn: int) -> Arrays:
        """The rows of the next batch, on the device."""
        while self.peek()[0] != turn:
            self.head = None
        _, arrays, event = self.head
        self.head = None
        if event is not None:
            here = torch.cuda.current_stream(self.device)
            here.wait_event(event)
            for a in arrays.values():
                a.record_stream(here)
        return cast(Arrays, arrays)


class _Engine:
    """One process that computes gradients. Rank 0 does what the program says, and tells the others."""

    def __init__(self, rank: int, size: int, device: torch.device, precision: str) -> None:
        self.rank, self.size, self.device, self.precision = rank, size, device, precision
        self.control: Any = dist.new_group(backend="gloo", timeout=timedelta(days=7)) if size > 1 else None
        self.turn = 0
        self.source: _Source | None = None
        self.model: _Model | None = None
        self.busy = collections.deque[tuple[Tensor, Any]]()  # loss and norm of steps that were not told yet
        self.fault: BaseException | None = None
        self.batch = "a batch of rows"
        self.seen: dict[Any, int] = {}  # steps by shapes of rows
        self.recorded: dict[Any, _Recorded] = {}

    def serve(self, source: _Source) -> None:
        """Rank 0, in a thread: does what the program says until it ends."""
        self.source = source
        network: dict[str, Any] = {}
        try:
            while (order := source.orders.get()) is not None:
                about, arrays = order
                if about["op"] == "network":
                    network = json.loads(about["at"])
                elif about["op"] == "weights":
                    self._tell(1)
                    self._begin({**network, **about}, arrays)
                elif about["op"] == "step":
                    numbers = [*map(float, about["at"].split())]
                    self._tell(2, *numbers)
                    self._step(*numbers)
                    self._answer(0 if source.orders.empty() else 1)  # the GPU works while the next step is begun
                else:  # pull
                    assert self.model is not None and source.wire is not None
                    self._answer(0)
                    source.wire.send("weights", self.model.arrays())
        except (OSError, EOFError):  # the program says why
            self.fault = source.fault
        except BaseException as e:
            self.fault = self._explained(e)
        finally:
            source.closed = True
            if source.wire is not None:  # the program sees that nobody trains
                with suppress(OSError):
                    source.wire.conn.shutdown(socket.SHUT_RDWR)
            with suppress(RuntimeError):  # another process is lost
                self._tell(0)

    def follow(self, workers: int) -> Run:
        """Rank 1 and higher: has a program make rows, and does what rank 0 tells."""
        run = ""
        try:
            while op := self._hear():
                if op[0] == 2:
                    self._step(*op[1:])
                    self.busy.clear()
                    continue
                box: list[Any] = [None]
                dist.broadcast_object_list(box, 0, group=self.control)
                about, arrays = box[0]
                run = about["run"]
                at = [*map(int, about["at"].split())]
                if self.source is None or [*self.source.peek()][1:] != at[1:]:  # its rows go on elsewhere
                    if self.source is not None:
                        self.source.close()
                    self.source = _Source(f"{self.rank} {self.size} {about['at']}", self.device, _ROOM)
                    threading.Thread(target=_make_rows, args=(self.source, run, workers), daemon=True).start()
                about["at"] = "{} {} {}".format(*self.source.peek())
                self._begin(about, arrays)
        except Exception as e:
            raise self._explained(e) from e
        finally:
            if self.source is not None:
                self.source.close()
        if not run:
            raise LandingError("process 0 could not begin the training: its error says why", code=1)
        return Run.open(run)

    def _explained(self, e: BaseException) -> BaseException:
        if isinstance(e, torch.OutOfMemoryError):
            return LandingError(
                f"{self.device} has no room for {self.batch} and the network. Lower train.batch or train.times_per_path, "
                "as settings={'train.times_per_path': 10}, or use device='cpu'", code=1)
        return e

    def _tell(self, *numbers: float) -> None:
        """Tells the other ranks what comes next: 0 the end, 1 weights, 2 a step."""
        if self.size > 1:
            dist.broadcast(torch.tensor([*numbers, 0, 0, 0][:4], dtype=torch.float64), 0, group=self.control)

    def _hear(self) -> list[float] | None:
        numbers = torch.zeros(4, dtype=torch.float64)
        dist.broadcast(numbers, 0, group=self.control)
        return list(map(float, numbers)) if numbers[0] else None

    def _begin(self, about: dict[str, Any], arrays: Arrays) -> None:
        """Takes over weights, and rows from an epoch and a step on."""
        if self.rank == 0 and self.size > 1:
            dist.broadcast_object_list([(about, arrays)], 0, group=self.control)
        self.turn = int(about["at"].split()[0])
        self.busy.clear()
        if self.model is None:
            self.model = _Model(about, arrays, self.device)
        else:
            self.model.load(arrays)

    def _step(self, rate: float, decay: float, update: float) -> None:
        """One update by the next rows."""
        assert self.model is not None and self.source is not None
        rows, m = self.source.next(self.turn), self.model
        self.batch = f"a batch of {len(rows['in'])} rows" if rows else self.batch
        numbers = m.numbers(rate, decay, update)
        told = self._update(m, rows, numbers.pin_memory() if self.device.type == "cuda" else numbers)
        if self.device.type != "cuda":
            self.busy.append((told, None))
            return
        pinned = torch.empty(2, dtype=torch.float64, pin_memory=True)
        pinned.copy_(told, non_blocking=True)
        self.busy.append((pinned, torch.cuda.current_stream(self.device).record_event()))

    def _update(self, m: _Model, rows: Arrays, numbers: Tensor) -> Tensor:
        shape = tuple(v.shape for v in rows.values())
        self.seen[shape] = self.seen.get(shape, 0) + 1
        half = partial(torch.autocast, self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16")
        if GRAPHS and m.can_record and self.device.type == "cuda" and self.size == 1 and self.seen[shape] > _WARM:
            if shape not in self.recorded and len(self.recorded) < _MOST_RECORDED:
                try:
                    self.recorded[shape] = _Recorded(m, rows, half)
                except torch.OutOfMemoryError:
                    raise
                except RuntimeError as e:
                    log.info("steps are not recorded as a CUDA graph: %s", e)
                    m.can_record = False
            if shape in self.recorded:
                return self.recorded[shape](rows, numbers)
        with half():
            m.gradient(rows)
        if self.size > 1:
            dist.all_reduce(m.sums)
        return m.move(numbers.to(self.device, non_blocking=True))

    def _answer(self, lag: int) -> None:
        """Tells the program losses and norms of all steps but the last few."""
        done = []
        while len(self.busy) > lag:
            told, event = self.busy.popleft()
            if event is not None:
                event.synchronize()
            done.append(told)
        if done:
            assert self.source is not None and self.source.wire is not None
            loss, norm = torch.stack(done).T
            self.source.wire.send("done", {"loss": loss, "norm": norm})


def _make_rows(source: _Source, run: str, workers: int) -> None:
    try:
        call(["train"], [f"--engine={source.path}", f"--workers={workers}"], [run])
    except BaseException as e:
        source.fault, source.closed = e, True


class _Model:
    """A network that is trained: parameters, moments and average, each in one tensor.

    Matrices that Muon moves stand last, those of one shape side by side.
    """

    def __init__(self, about: dict[str, Any], arrays: Arrays, device: torch.device) -> None:
        self.told, self.clip, starts = about["network"], about["clip"], set(about["muon"] or [])
        self.device = device
        if self.told["kind"] not in _KINDS:
            raise UsageError(f"landing.torch knows no network {self.told['kind']!r}; expected one of {', '.join(_KINDS)}")
        self.can_record = self.told["kind"] != "aligned"  # not its singular values
        ends = itertools.accumulate(a.numel() for k, a in arrays.items() if k.startswith(PREFIXES[0]))
        muon = {k[len(PREFIXES[0]):] for k, at in zip(arrays, [0, *ends], strict=False) if at in starts}
        self.net = self._net(arrays, PREFIXES[0])
        parameters = list(self.net.parameters())
        names = list(self.net.export(parameters))
        shapes = [p.reshape(len(p), -1).shape for p in parameters]
        self.order = sorted(range(len(names)), key=lambda i: (names[i] in muon, shapes[i] if names[i] in muon else ()))
        self.score = Score(self.told, self.net).to(device)
        size = sum(p.numel() for p in parameters)
        self.flat = [torch.zeros(size, device=device) for _ in PREFIXES]
        self.load(arrays)
        self.sums = torch.zeros(size + 1, device=device)  # the gradient, and the loss
        self.views: list[tuple[int, int]] = [(0, 0)] * len(names)
        self.muon: list[tuple[slice, tuple[int, int, int]]] = []
        end = 0
        for i in self.order:
            p, (out, width) = parameters[i], shapes[i]
            at, end = end, end + p.numel()
            self.views[i] = at, end
            p.data, p.grad = self.flat[0][at:end].view(p.shape), self.sums[at:end].view(p.shape)
            if names[i] not in muon:
                self.adam = slice(0, end)
            elif self.muon and self.muon[-1][1][1:] == (out, width):
                where, (k, *_) = self.muon[-1]
                self.muon[-1] = slice(where.start, end), (k + 1, out, width)
            else:
                self.muon.append((slice(at, end), (1, out, width)))
        self.moves = torch.ones(self.told["dim"], device=device)
        self.moves[self.told["dim"] - self.told["held"]:] = 0

    def _net(self, arrays: Arrays, prefix: str) -> Any:
        weights = {k: v.clone() for k, v in _under(arrays, prefix).items()}
        return _KINDS[self.told["kind"]](self.told, weights, _under(arrays, self.told["constant"]))

    def load(self, arrays: Arrays) -> None:
        """Takes over what a checkpoint holds."""
        for flat, prefix in zip(self.flat, PREFIXES, strict=True):
            parameters = list(self._net(arrays, prefix).parameters())
            flat.copy_(torch.cat([parameters[i].data.reshape(-1) for i in self.order]))

    def arrays(self) -> Arrays:
        """All that a checkpoint holds, by name."""
        shapes = [p.shape for p in self.net.parameters()]
        return {prefix + name: a for prefix, flat in zip(PREFIXES, self.flat, strict=True)
                for name, a in self.net.export([flat[i:j].view(s) for (i, j), s in zip(self.views, shapes, strict=True)]
                                               ).items()}

    def gradient(self, rows: Arrays) -> None:
        """Loss and gradient of rows: see the head of this module."""
        self.sums.zero_()
        if not rows:  # none of the batch is of this rank
            return
        d, n = self.told["dim"], len(rows["in"])
        x, p, t, hidden = torch.split(rows["in"], [d, rows["in"].shape[1] - d - 2, 1, 1], 1)
        s = self.net(self.score.read, x, p if self.told["momentum"] else None, t[:, 0], hidden[:, 0])
        s = s.float() * self.moves
        c, w, u, q = torch.split(rows["loss"], [1, 1, d, rows["loss"].shape[1] - d - 2], 1)
        if q.shape[1]:
            q = q.reshape(n, -1, d)
            s = s - torch.einsum("ncd,nc->nd", q, torch.einsum("ncd,nd->nc", q, s))
        loss = (w * (u - c * s).square()).sum() / 2
        loss.backward()
        self.sums[-1] = loss.detach()

    @torch.no_grad()
    def move(self, told: Tensor) -> Tensor:
        """Moves the weights along the gradient and returns loss and gradient norm, without waiting for them.

        told is what `numbers` returns: a tensor, so that a recorded step reads the numbers of each update.
        """
        η, root, rate, keep, mix = told
        θ, average, m, v = self.flat
        norm = torch.linalg.vector_norm(self.sums[:-1], dtype=torch.float64)
        scale = torch.clamp(self.clip / (norm + 1e-6), max=1).float() if self.clip else torch.ones_like(η)
        g = self.sums[:-1] * scale

        a, (β1, β2) = self.adam, (0.9, 0.999)
        m[a].mul_(β1).add_(g[a], alpha=1 - β1)
        v[a].mul_(β2).addcmul_(g[a], g[a], value=1 - β2)
        θ[a].sub_(η * m[a] / (v[a].sqrt() * root + 1e-8))

        β = 0.95
        for at, (k, out, width) in self.muon:
            m[at].mul_(β).add_(g[at], alpha=1 - β)
            x = (β * m[at] + (1 - β) * g[at]).view(k, out, width)
            x = x / x.flatten(1).norm(dim=1).clamp(min=1e-30)[:, None, None]
            for _ in range(5):  # Newton–Schulz
                b = x @ x.mT
                x = 3.4445 * x + (2.0315 * (b @ b) - 4.7750 * b) @ x
            θ[at].sub_(rate * (0.2 * math.sqrt(max(out, width))) * x.reshape(-1))
        average.mul_(keep).add_(mix * θ)
        return torch.stack([self.sums[-1].double(), norm])

    def numbers(self, rate: float, decay: float, update: float) -> Tensor:
        """What `move` reads: Adam's rate and the factor of √v, both without bias; Muon's rate; the shares of the average."""
        keep = decay if decay >= 0 else 1.0
        told = [rate / (1 - 0.9**update), 1 / math.sqrt(1 - 0.999**update), rate, keep, 1 - keep]
        return torch.tensor(told, dtype=torch.float32)


class _Recorded:
    """A step as one CUDA graph: hundreds of small kernels are then launched at once."""

    def __init__(self, m: _Model, rows: Arrays, half: Any) -> None:
        self.rows = {k: v.clone() for k, v in rows.items()}
        self.numbers = torch.zeros(5, device=m.sums.device)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            with half():
                m.gradient(self.rows)
            self.told = m.move(self.numbers)

    def __call__(self, rows: Arrays, numbers: Tensor) -> Tensor:
        for k, v in rows.items():
            self.rows[k].copy_(v)
        self.numbers.copy_(numbers, non_blocking=True)
        self.graph.replay()
        return self.told


def _under(arrays: Arrays, prefix: str) -> Arrays:
    return {k[len(prefix):]: v for k, v in arrays.items() if k.startswith(prefix)}
