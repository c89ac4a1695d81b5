"""Statements of the pages that no other test holds: a command shows whether each is true.

A row is (page, statement, exit code or None, what the output must have, command). Commands of a group run in one
folder, one after the other.
"""

from __future__ import annotations

import math
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from landing import _binary

Row = tuple[str, str, "int | None", str, str]

TINY = "--set train.epochs=2 --set network.width=8 --set network.layers=1 --set process.steps=10 --workers 1 -q"
GEN = "landing generate runs/run-001 -q"

RUNS: list[Row] = [
    ("run-folder", "a second training makes the next folder, -002", 0, "run-002",
     f"landing train t.yaml {TINY}; landing train t.yaml {TINY}; ls runs"),
    ("run-folder", "no run folder is overwritten", 3, "exist", f"landing train t.yaml {TINY} --out runs/run-001"),
    ("run-folder", "what a folder holds", 0, "checkpoints.config.yaml.*manifest.json.metrics.jsonl.*status.json",
     "ls runs/run-001"),
    ("run-folder", "status.json says trained", 0, '"trained"', "cat runs/run-001/status.json"),
    ("run-folder", "a run folder can be moved", 0, "5 samples",
     "cp -r runs/run-001 moved; landing generate moved -n 5 -o m.csv -q"),
    ("run-folder", "data must have the SHA-256 of the manifest", 3, "SHA-256",
     "head -100 points.csv > o.csv; landing report runs/run-001 --text --data o.csv -q"),
    ("run-folder", "generate refuses keys of training", 3, "network.width",
     f"{GEN} -n 5 -o q.csv --set network.width=16"),
    ("run-folder", "ULLA may become ULLA-P", None, "drawn by process.method=ULLA-P",
     f"{GEN} -n 5 -o p.csv --set process.method=ULLA-P"),
    ("run-folder", "fewer steps are allowed", 0, "5 samples", f"{GEN} -n 5 -o p2.csv --set process.steps=5"),
    ("run-folder", "more steps are refused", 3, "process.steps", f"{GEN} -n 5 -o p3.csv --set process.steps=20"),
    ("run-folder", "FILE.json says how samples were drawn", 0, '"seed"', f"{GEN} -n 5 -o s.npy; cat s.npy.json"),
    ("run-folder", "a report with other keys goes to drawn/KEYS", 0, "method=ULLA-P",
     "landing report runs/run-001 --set process.method=ULLA-P --text -q; ls runs/run-001/drawn"),
    ("run-folder", "--workers is at most 1024", 2, "1024", f"{GEN} -n 5 -o w.npy --workers 1025"),
    ("run-folder", "a problem file has at most 1 MiB", 3, "big.yaml", "landing check big.yaml"),
    ("commands", "--progress json writes objects of events", 0, '^{"event"',
     "landing train t.yaml --set train.epochs=1 --set network.width=8 --progress json --out pj 2>&1 >/dev/null |"
     " head -1"),
    ("commands", "a failure with --json has code, kind, file, line, message", 3,
     '"code".*"kind".*"file".*"line".*"message"', "landing check bad.yaml --json"),
    ("commands", "exit code 2 for wrong usage", 2, "", "landing generate"),
    ("commands", "exit code 6 for --timeout", 6, "landing train to", "landing train t.yaml --timeout 20s --out to -q"),
    ("commands", "version names the machine", 0, "cores.*kernels", "landing version"),
    ("commands", "recipes NAME prints a problem file", 0, "kind: demo.*train:", "landing recipes demo"),
    ("commands", "dev schema prints the schema of an answer", 0, '"anyOf"', "landing dev schema generate"),
    ("commands", "ls shows distance, verdict, age, size", 0, "(?i)distance.*verdict.*size", "landing ls"),
    ("data", "generated tables have the names of the data", 0, "^x,y,z", 
     f"{GEN} -n 2 -o n.csv >/dev/null; head -1 n.csv"),
    ("data", "else the names are x0, x1, …", 0, "x0,x1,x2",
     f"tail -n +2 points.csv > num.csv; landing train t.yaml --data num.csv {TINY} --out nn; "
     "landing generate nn -n 2 -o n2.csv -q; head -1 n2.csv"),
    ("data", "80 % of the rows train, 10 % validate, 10 % test", 0, "320 training 40 validation and 40 test",
     "landing train t.yaml --set train.epochs=1 --set train.stop=held_out_loss --set network.width=8 --out sp 2>&1"),
    ("problem-file", "variants apply in the order given", 0, "steps: 33",
     f"landing train v.yaml --variant slow,wide {TINY.replace('--set process.steps=10', '')} --out vv; "
     "cat vv/config.yaml"),
    ("training", "an extension refuses other keys", 3, "network.width",
     "landing train runs/run-001 --set network.width=16 --set train.epochs=4"),
    ("training", "an extension trains more epochs", 0, "trained 4 epochs",
     "landing train runs/run-001 --set train.epochs=4 --workers 1 -q"),
    ("training", "manifest.json lists extensions", 0, "extensions", "cat runs/run-001/manifest.json"),
    ("distributed", "parts merge to the bytes of one call", 0, "",
     f"{GEN} -n 30 -o one.npy; for i in 3 1 2; do {GEN} -n 30 --shard $i/3 -o sh.npy; done; "
     "landing merge sh.npy.parts -o sh.npy -q; cmp one.npy sh.npy"),
    ("distributed", "a part of another seed is an error", 3, "seed", f"{GEN} -n 30 --seed 9 --shard 1/3 -o sh.npy"),
    ("distributed", "at most 100,000 parts", 2, "100", f"{GEN} -n 30 --shard 1/100001 -o z.npy"),
    ("distributed", "--shard auto lists what it looked for", 2, "SLURM.*JOB_COMPLETION_INDEX",
     f"{GEN} -n 30 --shard auto -o z.npy"),
    ("distributed", "files of a part", 0, "claim.json.*result.json.*rows.npy.*unit.json", "ls sh.npy.parts/*"),
    ("exports", "existing files are not overwritten", 3, "exist",
     "landing export runs/run-001 --onnx s.onnx -q >/dev/null; landing export runs/run-001 --onnx s.onnx"),
    ("exports", "--torch writes three files", 0, "graph.json.*model.safetensors.*score.py",
     "landing export runs/run-001 --torch th -q; ls th"),
    ("exports", "a hub folder needs an evaluation of the weights", 3, "report", "landing export runs/run-001 --hub hb"),
    ("given", "sd not above 0 is exit 3 with the line", 3, "g1.yaml:1.*sd", f"{GEN} --given g1.yaml -n 5 -o g1.npy"),
    ("given", "an equality that Σ keeps already is exit 3", 3, "", f"{GEN} --given g2.yaml -n 5 -o g2.npy"),
    ("given", "an unknown key is exit 3 with the line", 3, "g3.yaml:1", f"{GEN} --given g3.yaml -n 5 -o g3.npy"),
    ("verify", "proofs go to DATA.proof.jsonl", 0, "one.npy.proof.jsonl",
     "landing verify one.npy -q; ls one.npy.proof.jsonl"),
    ("verify", "the printed checker repeats proofs with the standard library", 0, "",
     "landing verify --checker > ck.py; python3 -S ck.py one.npy.proof.jsonl"),
    ("verify", "a point far off has no proof: exit 4", 4, "", "landing verify far.npy --problem t.yaml"),
    ("conditions", "a value far from the training data gives a warning", None, "warning",
     f"landing train cond.yaml {TINY} --out cr; landing generate cr --condition a=2.5 -n 5 -o k.csv"),
    ("conditions", "an unknown name is an error", 3, "", "landing generate cr --condition b=1.5 -n 5 -o k2.csv"),
    ("conditions", "samples keep c bit for bit", 0, "^1.5\na\n$",
     "landing generate cr --condition a=1.5 -n 5 -o k3.csv -q >/dev/null; cut -d, -f3 k3.csv | sort -u"),
    ("conditions", "mcmc does not support conditions", 3, "", "landing mcmc cond.yaml"),
]

FILES: list[Row] = [
    ("data", "longitudes up to 360 are read", 0, "0 FAIL", "landing check e.yaml"),
    ("data", "a latitude of 95 is exit 3 with the line", 3, "e2.csv:2", "landing check e.yaml --data e2.csv"),
    ("data", "lines that begin with #, % or // are comments", 0, "0 FAIL", "landing check t.yaml --data comments.csv"),
    ("data", "UTF-16 with a byte order mark is read", 0, "0 FAIL", "landing check t.yaml --data u16.csv"),
    ("data", "the typographic minus is read", 0, "0 FAIL", "landing check t.yaml --data minus.csv"),
    ("data", "an NPZ file may have an array called points", 0, "0 FAIL", "landing check t.yaml --data named.npz"),
    ("data", "two other arrays are refused", 3, "two.npz", "landing check t.yaml --data two.npz"),
    ("data", "complex numbers are refused by name", 3, "complex", "landing check t.yaml --data complex.npy"),
    ("data", "either byte order is read", 0, "0 FAIL", "landing check t.yaml --data swapped.npy"),
    ("data", "n×a×b counts as n×(a·b)", 0, "0 FAIL", "landing check t.yaml --data cube.npy"),
    ("data", "sizes beyond 10¹² are refused", 3, "huge.npy", "landing check t.yaml --data huge.npy"),
    ("data", "refine leaves out and counts rows far off", None, "left out",
     "sed 's/^1[^,]*,/5,/' points.csv > off.csv; landing refine t.yaml --data off.csv -o ref.npy"),
    ("init", "init overwrites no file", 3, "exist", "landing init points.csv -o t.yaml"),
    ("init", "the same data give the same file", 0, "",
     "landing init points.csv -o a.yaml -q; landing init points.csv -o b.yaml -q; cmp a.yaml b.yaml"),
    ("init", "marks behind numbers are read, W below 0", 0, r"\n[\d.]+,[\d.]+,-[\d.]+\n$",
     "landing init marks.csv -o marks.yaml; head -3 marks-clean.csv"),
    ("init", "decimal commas between commas are refused", 3, "commas.csv", "landing init commas.csv -o commas.yaml"),
    ("init", "semicolons and decimal commas are read", 0, "holds", "landing init semi.csv -o semi.yaml"),
    ("init", "columns of words are left out", 0, "who", "landing init words.csv -o words.yaml"),
    ("init", "shares that sum up to 100 become constraints", 0, "= 100.*>= 0",
     "landing init shares.csv -o s.yaml; cat s.yaml"),
    ("init", "--clean refuses to lose more than 1 % of the rows", 3, "max-loss",
     "landing init some.csv --clean c.csv -o some.yaml"),
    ("formulas", "det takes at most 10 rows", 3, "10", "landing check det.yaml"),
    ("formulas", "with names, dim may be left out", None, "dimension", "landing check names.yaml"),
    ("formulas", "a formula has at most 16 KiB", 3, "16", "landing check long.yaml"),
    ("formulas", "the component of dynamics.v at step 3", None, r"dynamics\[3\]\.v",
     "landing check sequence.yaml --json"),
    ("problem-file", "a wrong key names file, line and key", 3, "bad.yaml:2.*minro", "landing check bad.yaml"),
    ("problem-file", "sets nest at most 8 deep", 3, "8", "landing check nest.yaml"),
    ("problem-file", "a budget is at least 1 s", 2, "from 1s", "landing train t.yaml --for 0.5s --out x1"),
    ("problem-file", "at most 1000 hidden layers", 3, "1000",
     "landing train t.yaml --set network.layers=1001 --out x2"),
    ("problem-file", "at most 10⁶ steps", 3, "process.steps",
     "landing train t.yaml --set process.steps=1000001 --out x3"),
    ("problem-file", "ασ²Δt of 2 or more is refused", 3, "diverges",
     "landing check t.yaml --set process.landing.mode=explicit --set process.landing.rate=500"),
    ("sampling", "mcmc needs no data, and prints split-R̂", 0, "R̂", "landing mcmc mc.yaml -o d.npy -q"),
    ("sampling", "it draws 8 chains of 1000", 0, "8, 1000|8000",
     "python3 -c \"import numpy; print(numpy.load('d.npy').shape)\""),
    ("sampling", "exit code 4 if split-R̂ is too large", 4, "",
     "landing mcmc mc.yaml -o d2.npy -q --set sample.draws=20 --set sample.burn=0 --set sample.thin=1 "
     "--set sample.max_rhat=1.0001"),
    ("sweeps", "rivals-demo has 36 trainings of 20 s", 0, "^36\n",
     "landing sweep rivals-demo --dry-run | grep 20s | sed -E 's/(-s1)-.*/\\1/; s/ .*//' | sort -u | wc -l"),
    ("sweeps", "the time to run counts each training once", 0, "^72 cells, about 12:00 to run",
     "landing sweep rivals-demo --dry-run | tail -1"),
    ("sweeps", "a sweep has at most 10,000 cells", 3, "10", "landing sweep many.yaml --dry-run"),
    ("sweeps", "a rule that selects nothing is refused", 3, "", "landing sweep rule.yaml --dry-run"),
    ("sweeps", "seed is refused in set", 3, "seed", "landing sweep seed.yaml --dry-run"),
    ("robots", "xacro is refused by file and line", 3, "x.urdf:1.*xacro", "landing init x.urdf -o x.yaml"),
    ("grids", "a case file has version 2", 3, "g.m", "landing make grid g.m -o g.csv"),
]

VALUES = [("-x^2 is −(x²)", "-x[0]^2", [2, 0, 0], -4), ("2^3^2 is 2⁹", "2^3^2 - x[0]", [0, 0, 0], 512),
          ("where(t, u, v) is u where t ≥ 0", "where(x[0], 5, 7)", [0, 0, 0], 5),
          ("the residual is left − right", "x[0] = x[1]", [5, 2, 0], 3),
          ("x[0:3] has elements 0, 1, 2", "sum(x[0:3])", [1, 2, 4], 7),
          ("ranges include both ends", "sum(i in 0..2, x[i])", [1, 2, 4], 7),
          ("angles are in radians", "angle(x, [0, 0, 1])", [1, 0, 0], math.pi / 2),
          ("logistic of 0 is a half", "logistic(x[0])", [0, 0, 0], 0.5),
          ("reshape is by rows", "reshape([1, 2, 3, 4], 2, 2)[1][0] + 0*x[0]", [0, 0, 0], 3)]


@pytest.fixture
def shell(folder: Path):
    """A function that runs a command with `landing` and this Python on the path."""
    bin = folder / "bin"
    bin.mkdir()
    os.symlink(_binary.binary(), bin / "landing")
    os.symlink(sys.executable, bin / "python3")
    drop = ("LANDING_SHARDS", "SLURM", "JOB_COMPLETION")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env["PATH"] = os.pathsep.join([str(bin), env["PATH"]])
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)

    def run(command: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-c", command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    rng = random.Random(1)
    x = np.empty((400, 3))
    for row in x:
        u = rng.uniform(0, 2 * math.pi)
        v = 2 * u + rng.gauss(0, 0.3)
        row[:] = (2 + 0.6 * math.cos(v)) * math.cos(u), (2 + 0.6 * math.cos(v)) * math.sin(u), 0.6 * math.sin(v)
    text = "x,y,z\n" + "".join(",".join(f"{a:.15g}" for a in row) + "\n" for row in x)
    problem = "data: {kind: points, path: points.csv}\nset: {kind: torus, major: 2.0, minor: 0.6}\n"
    ellipse = [(a, t) for a, t in ((rng.uniform(1, 2), rng.uniform(0, 6)) for _ in range(400))]
    circle = [(math.cos(i), math.sin(i)) for i in range(200)]
    shares = [(100 * u, 100 * (1 - u) * v) for u, v in ((rng.random(), rng.random()) for _ in range(300))]
    places = [f"{rng.uniform(-80, 80):.3f},{rng.uniform(0, 359):.3f}\n" for _ in range(300)]
    for name, content in {
        "points.csv": text, "t.yaml": problem, "big.yaml": "#" + "x" * (1 << 20) + "\n" + problem,
        "bad.yaml": problem.replace("minor", "minro"), "comments.csv": "# one\n% two\n// three\n" + text,
        "minus.csv": text.replace("-", "\u2212"),
        "e.csv": "latitude,longitude\n" + "".join(places), "e2.csv": "latitude,longitude\n95,10\n" + "".join(places),
        "e.yaml": "data: {kind: earth, path: e.csv}\nset: {kind: sphere, dim: 3}\n",
        "v.yaml": problem + "variants: {slow: {process: {steps: 77}}, wide: {process: {steps: 33}}}\n",
        "marks.csv": "a,b,c\n" + "".join(f"{i % 97 / 2:.1f}%,{i % 45}N,{i * 7 % 89 + 1:.1f}° W\n" for i in range(200)),
        "commas.csv": "a,b\n" + "".join(f"1,{i % 10}5,-0,{i % 7}\n" for i in range(100)),
        "semi.csv": "a;b\n" + "".join(f"{a:.12f};{b:.12f}\n".replace(".", ",") for a, b in circle),
        "words.csv": "who,x,y\n" + "".join(f"p{i},{a:.14f},{b:.14f}\n" for i, (a, b) in enumerate(circle)),
        "shares.csv": "a,b,c\n" + "".join(f"{u:.10g},{v:.10g},{100 - u - v:.10g}\n" for u, v in shares),
        "some.csv": "x,y\n" + "".join(f"{i},{i * i % 7 if i % 10 else 'oops'}\n" for i in range(100)),
        "det.yaml": 'set:\n  dim: 121\n  equality: [{name: d, expr: "det(reshape(x, 11, 11)) = 1"}]\n',
        "names.yaml": 'set:\n  names: [A, B, C]\n  equality: [{name: s, expr: "A + B + C = 1"}]\n',
        "long.yaml": 'set:\n  dim: 2\n  equality: [{name: s, expr: "x[0]' + " + x[1]" * 2400 + ' = 1"}]\n',
        "sequence.yaml": "set:\n  kind: sequence\n  steps: 5\n  state: [p, v]\n"
                         '  between: [{name: dynamics.v, expr: "next(v) - v = 0.1*p"}]\n',
        "nest.yaml": "set: " + "{all: [" * 9 + "{kind: sphere, dim: 3}" + "]}" * 9 + "\n",
        "mc.yaml": 'set: {kind: torus, major: 2, minor: 0.6}\npotential: {kind: formula, expr: "-3*x[0]"}\n',
        "many.yaml": f"problems: [t.yaml]\nseeds: {list(range(1, 10002))}\n",
        "rule.yaml": "problems: [t.yaml]\nmethods: [ULLA]\ncells: [{method: OLLA, skip: none}]\n",
        "seed.yaml": "problems: [t.yaml]\nset: {seed: 4}\n",
        "g1.yaml": 'observe: [{expr: "x[1]", value: 0.3, sd: 0}]\n', "g3.yaml": "nonsense: 1\n",
        "g2.yaml": 'equality: [{name: p, expr: "norm([norm(x[0:2]) - 2, x[2]]) = 0.6"}]\n',
        "cond.csv": "x,y,a\n" + "".join(f"{a * math.cos(t):.15g},{math.sin(t):.15g},{a:.15g}\n" for a, t in ellipse),
        "cond.yaml": "data: {kind: points, path: cond.csv}\ncondition: {columns: [a], drop: 0.1}\n"
                     'set: {dim: 2, equality: [{name: ellipse, expr: "(x[0]/a)^2 + x[1]^2 = 1"}]}\n',
        "x.urdf": '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="l"/></robot>',
        "g.m": "function mpc = g\nmpc.version = '1';\n",
    }.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("u16.csv").write_bytes(text.encode("utf-16"))
    np.savez("named.npz", points=x, more=x)
    np.savez("two.npz", a=x, b=x)
    for name, array in {"complex": x + 0j, "swapped": x.astype(">f4"), "huge": 1e13 * x, "cube": x[:, :, None],
                        "far": np.array([[9.0, 0, 0]])}.items():
        np.save(f"{name}.npy", array)
    return run


@pytest.mark.parametrize("rows", [RUNS, FILES], ids=["runs", "files"])
def test_statements(rows: list[Row], shell) -> None:
    wrong = []
    for page, statement, code, has, command in rows:
        got, printed = shell(command)
        if code is not None and got != code or not re.search(has, printed, re.S):
            wrong.append(f"{page}.md: {statement}\n  {command}\n  exit code {got}, expected {code} and {has!r}:\n"
                         f"{printed[-600:]}")
    assert not wrong, "\n".join(wrong)


def test_formulas(shell) -> None:
    for statement, formula, x, expected in VALUES:
        Path("f.yaml").write_text(f'set:\n  dim: 3\n  equality: [{{name: f, expr: "{formula}"}}]\n', encoding="utf-8")
        np.save("x.npy", np.array([x], float))
        code, printed = shell("landing dev values f.yaml --data x.npy -o v.npy --force")
        assert code == 0, printed
        assert np.load("v.npy").ravel() == pytest.approx([expected], abs=1e-12), statement


def test_service(shell) -> None:
    shell(f"landing train t.yaml {TINY}")
    Path("tokens").write_text("alice 0123456789abcdef\n")
    Path("short").write_text("bob short\n")
    code, printed = shell("landing serve runs/run-001 --tokens short --listen 127.0.0.1:0")
    assert code != 0 and "16" in printed
    code, printed = shell("timeout 20 landing serve runs/run-001 --listen 0.0.0.0:0")
    assert code not in (0, 124) and "token" in printed
    command = [_binary.binary(), "serve", "runs/run-001", "--tokens", "tokens", "--listen", "127.0.0.1:0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = service.stdout.readline()
        url = re.search(r"http://[\d.:]+", line)[0]

        def ask(path: str, body: bytes | None = None, token: bool = True, accept: str = "application/json"):
            headers = {"Content-Type": "application/json", "Accept": accept}
            if token:
                headers["Authorization"] = "Bearer 0123456789abcdef"
            request = urllib.request.Request(url + path, data=body, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as refused:
                return refused.code, refused.headers, refused.read()

        for _ in range(100):
            if ask("/readyz", token=False)[0] == 200:
                break
            time.sleep(0.1)
        samples = "/v1/runs/run-001/samples"
        for path in ("/healthz", "/readyz", "/docs", "/openapi.json", "/"):
            assert ask(path, token=False)[0] == 200, f"{path} needs no token"
        assert ask("/v1/runs", token=False)[0] == 401
        status, headers, body = ask(samples, b'{"n": -3}')
        assert status == 422 and headers["Content-Type"].startswith("application/problem+json")
        assert b'"detail"' in body and b'"errors"' in body
        assert ask(samples, b'{"n": 4000000}')[0] == 422
        assert ask(samples, b'{"n": 100000, "deadline_ms": 20}')[0] == 504
        status, _, body = ask(samples, b'{"n": 7, "seed": 5}', accept="application/x-npy")
        shell(f"{GEN} -n 7 --seed 5 -o own.npy")
        assert status == 200 and body == Path("own.npy").read_bytes()
    finally:
        service.send_signal(signal.SIGTERM)
    assert service.wait(60) == 0
