"""Several processes: the same bytes as one, whichever of them die on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

import likewise
from likewise import Embedder
from likewise.distribute.output_folder import OutputFolder
from likewise.distribute.plan import EncodePlan
from likewise.distribute.shards import EncodeJob, ModelChoice
from likewise.distribute.vector_cache import VectorCache
from likewise.distribute.workers import processes as workers_module
from likewise.distribute.workers import worker as worker_module
from likewise.distribute.workers.processes import in_workers
from likewise.errors import BadInput, BadModel, LikewiseError
from likewise.files.vector_origin import VectorOrigin

from .outputs import content, encoded, jsonl, numbered, settings

MODEL = ModelChoice("likewise-static", {"engine": "numpy"})
ROOT = Path(__file__).parents[2]


@pytest.fixture
def started(monkeypatch):
    """Every worker that is started, in order."""
    found = []
    plain = workers_module._Worker.__init__

    def start(self, *arguments):
        plain(self, *arguments)
        found.append(self)

    monkeypatch.setattr(workers_module._Worker, "__init__", start)
    return found


def test_two_workers_give_the_bytes_of_one_process_also_where_one_is_killed(static, tmp_path, started):
    source = numbered(tmp_path / "n.jsonl", 24)
    encoded([source], tmp_path / "whole", static, settings(), origin=VectorOrigin.of(static, MODEL.name))
    killed = []

    def with_a_kill(job, numbers, advance):
        for record in in_workers(MODEL, 2, 2)(job, numbers, advance):
            if not killed:
                killed.append(started[0].process.pid)
                os.kill(killed[0], signal.SIGKILL)
            yield record

    origin = VectorOrigin.of(static, MODEL.name)
    report = encoded([source], tmp_path / "out", static, settings(), encode_shards=with_a_kill, origin=origin)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert report.made == 6
    assert all(worker.process.returncode is not None for worker in started)


@pytest.mark.usefixtures("unchecked")
def test_progress_adds_up_to_the_rows_of_the_shards_whoever_dies(monkeypatch):
    """A worker reports distinct texts; its record has all rows, and what a dead one had reported is taken back."""
    record = {"number": 0, "rows": 9, "bytes": 1, "blake2b": "", "notes": []}
    replies = [{"ready": True}, {"progress": (2.0, 10)}, {"progress": (3.0, 5)}, None]
    replies += [{"ready": True}, {"progress": (4.0, 11)}, {"record": record}]

    class Worker:
        """One that says what is next."""

        shard, texts, tokens = None, 0.0, 0
        count, encode = workers_module._Worker.count, workers_module._Worker.encode

        def __init__(self, job, model, threads, queue):
            self.queue, self.process = queue, SimpleNamespace(returncode=-9)
            self._send(None)

        def _send(self, _):
            while replies:
                reply = replies.pop(0)
                self.queue.put((self, reply))
                if reply is None or "ready" in reply:
                    break

        def stop(self):
            """It has no process."""

    monkeypatch.setattr(workers_module, "_Worker", Worker)
    pool, seen = workers_module._Pool(None, MODEL, 1, workers_module.deque([0])), []
    assert [one.rows for one in pool.records(1, lambda texts, tokens: seen.append((texts, tokens)))] == [9]
    assert seen == [(2.0, 10), (3.0, 5), (-5.0, -15), (4.0, 11), (5.0, 0)]


def test_a_shard_that_ends_every_worker_is_named_and_the_others_end_too(static, tmp_path, monkeypatch, started):
    source = numbered(tmp_path / "n.jsonl", 4)
    plain = workers_module._Worker.encode

    def killed(self, shard):
        plain(self, shard)
        self.process.kill()

    monkeypatch.setattr(workers_module._Worker, "encode", killed)
    monkeypatch.setattr(workers_module, "MOST_DEATHS", 2)
    origin = VectorOrigin.of(static, MODEL.name)
    with pytest.raises(
        LikewiseError, match="2 workers ended at shard 0, the last with signal 9 .9 may mean that memory"
    ):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=in_workers(MODEL, 1, 1), origin=origin)
    assert len(started) == 2 and all(worker.process.returncode is not None for worker in started)


def test_an_error_of_a_worker_is_raised_here_as_what_it_is_there(static, tmp_path, started):
    source = jsonl(tmp_path / "n.jsonl", [{"text": "red " * 9000}])
    origin = VectorOrigin.of(static, MODEL.name, overflow="error")
    with pytest.raises(BadInput, match=r"shard 0 \(.*n\.jsonl:1 to 1\): texts\[0\] has 9,000 tokens"):
        encoded([source], tmp_path / "out", static, settings(), encode_shards=in_workers(MODEL, 1, 1), origin=origin)
    other = Embedder.load("likewise-mini", engine="numpy")
    with pytest.raises(BadModel, match="likewise-static is not the model that the job was started with: fingerprint"):
        numbered(source)
        wrong = VectorOrigin.of(other, "likewise-mini")
        encoded([source], tmp_path / "other", other, settings(), encode_shards=in_workers(MODEL, 1, 1), origin=wrong)
    assert all(worker.process.returncode is not None for worker in started)


def test_a_worker_refuses_another_model_than_the_one_of_its_job(static):
    origin = VectorOrigin.of(static, "static", prompt="passage: ", overflow="error")
    assert MODEL.load(origin).fingerprint == static.fingerprint
    with pytest.raises(BadModel, match="likewise-static is not the model .* started with: width 2 and 384"):
        MODEL.load(replace(origin, width=2))


@pytest.mark.parametrize(
    ("error", "kind", "message"), [(BadInput("why"), "BadInput", "why"), (KeyError("why"), "", "KeyError: 'why'")]
)
def test_a_worker_replies_with_its_error_and_nothing_else(monkeypatch, capfd, error, kind, message):
    def fail(*_):
        os.write(1, b"printed by a package\n")
        raise error

    monkeypatch.setattr(worker_module, "_serve", fail)
    monkeypatch.setattr(worker_module, "_read", lambda _: None)
    handlers = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    output = os.dup(1)
    try:
        worker_module.main()
    finally:
        os.dup2(output, 1)
        os.close(output)
    found = capfd.readouterr()
    assert json.loads(found.out) == {"error": {"kind": kind, "message": message}}
    assert found.err == "printed by a package\n"
    assert handlers == {signal.SIGINT: signal.SIG_IGN}


def test_a_worker_exits_at_the_end_of_its_input(monkeypatch):
    lines, codes = SimpleQueue(), []
    monkeypatch.setattr(sys, "stdin", StringIO("1\n2\n"))
    monkeypatch.setattr(os, "_exit", codes.append)
    worker_module._read(lines)
    assert [lines.get(), lines.get()] == ["1\n", "2\n"] and codes == [0]


def test_threads_are_divided_among_workers_and_the_cache_is_shared(static, tmp_path, monkeypatch):
    seen, source = [], str(Path(likewise.__file__).parents[1])
    plain = subprocess.Popen

    def popen(*arguments, **options):
        seen.append(options["env"]["OMP_NUM_THREADS"])
        assert options["env"]["PYTHONPATH"].split(os.pathsep)[0] == source
        return plain(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    origin = VectorOrigin.of(static, MODEL.name)
    chosen = settings(5)
    ten = numbered(tmp_path / "n.jsonl", 10)
    ways = in_workers(MODEL, 2, 5, tmp_path / "cache")
    encoded([ten], tmp_path / "out", static, chosen, encode_shards=ways, origin=origin)
    assert seen == ["2", "2"] and len(VectorCache(tmp_path / "cache", origin)) == 10


@pytest.mark.parametrize(("workers", "threads", "each"), [(1, 3, 3), (2, 5, 2), (2, 3, 1), (3, 1, 1), (2, 0, 1)])
def test_a_worker_has_its_share_of_the_threads_and_one_at_least(tmp_path, monkeypatch, workers, threads, each):
    monkeypatch.setattr(workers_module, "_Pool", lambda job, model, share, waiting: 1 / (share - each))
    origin = VectorOrigin("m", "f", "numpy", "fp32", 2, "mean", True, 8)
    job = EncodeJob(tmp_path, EncodePlan((), (), ()), origin, settings())
    with pytest.raises(ZeroDivisionError):
        list(in_workers(MODEL, workers, threads)(job, [0], lambda *_: None))


def test_there_is_a_worker_at_least():
    with pytest.raises(BadInput, match="workers is 0"):
        in_workers(MODEL, 0, 1)


@pytest.mark.usefixtures("unchecked")
def test_three_workers_that_end_before_their_first_shard_are_enough():
    pool, process = workers_module._Pool(None, MODEL, 1, workers_module.deque([0])), SimpleNamespace(returncode=7)
    dead = SimpleNamespace(shard=None, texts=0.0, tokens=0, process=process, stop=lambda: None)
    pool._workers += [dead] * 3
    for _ in range(2):
        pool._remove(dead, None)
    with pytest.raises(LikewiseError, match="^3 workers ended before their first shard, the last with exit code 7"):
        pool._remove(dead, None)


def test_an_error_of_no_class_here_is_a_runtime_error():
    found = [workers_module._error(kind, "why") for kind in ("BadInput", "BelowBar", "", "NoSuchError")]
    assert [type(error) for error in found] == [BadInput, RuntimeError, RuntimeError, RuntimeError]
    assert {str(error) for error in found} == {"why"}


def test_a_worker_reports_what_it_has_done_since_its_last_report_every_fifth_of_a_second(monkeypatch):
    now, replies = [10.0], StringIO()
    monkeypatch.setattr(worker_module, "monotonic", lambda: now[0])
    advance = worker_module._Progress(replies)
    for later in (0.125, 0.25, 0.3125, 0.375, 0.5, 1):
        now[0] = 10 + later
        advance(2.0, 3)
    assert [json.loads(line)["progress"] for line in replies.getvalue().splitlines()] == [[4, 6], [6, 9], [2, 3]]


def test_a_small_run_of_the_kills_is_clean():
    """benchmarks.encode_kills, its short form."""
    command = [sys.executable, "-m", "benchmarks.encode_kills", "--kills", "6", "--rows", "200"]
    reported = subprocess.run(
        [*command, "--longest", "0.2"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert "0 DIFFERENT" in reported.stdout and "0 NOT WHOLE" in reported.stdout


def waiting_for(what, seconds=20.0):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_the_command_leaves_what_the_same_command_completes(static, tmp_path, number):
    source, out = numbered(tmp_path / "n.jsonl", 3000), tmp_path / "out"
    command = [sys.executable, "-m", "likewise", "encode", str(source), "-o", f"{out}/", "-m", "likewise-mini"]
    command += ["--engine", "numpy", "--shard-rows", "100", "--workers", "2", "-q"]
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": str(ROOT / "src")}
    own = {
        "start_new_session": True,
        "preexec_fn": lambda: signal.signal(number, signal.SIG_DFL),
    }  # a shell may ignore it
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **own)
    waiting_for((out / "journal.jsonl").exists)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert error == f"likewise: stopped by {number.name}; no half-written file remains\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # no process of it is left
    assert {path.name for path in out.iterdir()} == {"manifest.json", "journal.jsonl", "shards"}
    finished = len(list((out / "shards").iterdir()))
    assert 0 < finished < 30
    output = OutputFolder.open(out)
    assert not any(map(output.problem, output.records))


def test_a_worker_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(workers_module, "PATIENCE", 0.2)
    worker = object.__new__(workers_module._Worker)
    worker.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.PIPE)
    worker._reader = threading.Thread(target=worker.process.poll)
    worker._reader.start()
    ender = threading.Thread(target=worker.stop, daemon=True)
    ender.start()
    ender.join(20)
    try:
        assert worker.process.poll() == -signal.SIGKILL
    finally:
        worker.process.kill()
