"""The parent of workers over processes and a clock that are made up: none is begun, none is ended."""

import os
import signal
from types import SimpleNamespace

import pytest

from likewise.serve import workers
from likewise.serve.workers import Supervisor

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ANY_THAT_IS_DEAD = (-1, os.WNOHANG)


@pytest.fixture
def system(monkeypatch):
    """What the parent asks of the system, so that nothing real is reached."""
    clock = [100.0]

    def pass_by(seconds):
        clock[0] += seconds

    threads = []
    made_up = {
        "threading": SimpleNamespace(Thread=lambda **how: threads.append(how) or SimpleNamespace(start=lambda: None)),
        "os": SimpleNamespace(**vars(os)),
        "signal": SimpleNamespace(**vars(signal)),
        "time": SimpleNamespace(monotonic=lambda: clock[0], sleep=pass_by),
    }
    for name, module in made_up.items():
        monkeypatch.setattr(workers, name, module)
    for name in ("fork", "waitpid", "kill", "_exit"):
        setattr(made_up["os"], name, None)
    return SimpleNamespace(clock=clock, pass_by=pass_by, threads=threads, **made_up)


@pytest.mark.parametrize(("error", "code"), [(None, 0), (ValueError("no such model"), 1)])
def test_a_worker_serves_and_tells_by_its_exit_code_how_it_ended(error, code, system, capsys):
    done, handlers = [], {}

    def serve():
        done.append("served")
        if error is not None:
            raise error

    system.os.fork, system.os._exit = lambda: 0, done.append
    system.signal.signal = handlers.__setitem__
    Supervisor(1, serve, lambda: None, 1.0)._start()
    assert done[:2] == ["served", code]
    assert handlers == {**dict.fromkeys(SIGNALS, signal.SIG_DFL), signal.SIGHUP: signal.SIG_IGN}
    assert ("likewise: no such model" in capsys.readouterr().err) == (error is not None)


def test_a_worker_stops_when_its_parent_is_gone(system):
    sent, parents = [], [os.getpid()] * 3 + [1]
    system.os.fork, system.os._exit = lambda: 0, lambda code: None
    system.os.getppid, system.os.kill = lambda: parents.pop(0), lambda *given: sent.append((*given, system.clock[0]))
    system.signal.signal = lambda *_: None
    Supervisor(1, lambda: None, lambda: None, 1.0)._start()
    (watch,) = system.threads
    watch["target"](*watch["args"])
    assert watch["daemon"] and sent == [(os.getpid(), signal.SIGTERM, 103.0)]


def test_workers_are_given_up_after_five_that_failed_within_three_seconds_one_after_another(system, capsys):
    failure, late, stopped = (2.9, 256), (3.1, 256), (0.1, 0)
    lives, pids, ended = [*[failure] * 4, stopped, *[failure] * 4, late, *[failure] * 5], [], []

    def fork():
        pids.append(len(pids) + 1)
        return pids[-1]

    def waitpid(*_):
        seconds, status = lives.pop(0)
        system.pass_by(seconds)
        return pids[-1], status

    system.os.fork, system.os.waitpid = fork, waitpid
    assert Supervisor(1, lambda: None, lambda: ended.append(True), 1.0).run() == 1
    assert (len(pids), lives, ended) == (15, [], [True])
    said = capsys.readouterr().err
    assert said.count("starting another one") == 14 and "worker 5 has died (exit code 0)" in said


def test_workers_that_do_not_end_after_sigterm_are_killed_soon_after_the_time_for_requests(system):
    sent = []

    def fork():
        signal.raise_signal(signal.SIGTERM)  # to the parent, which notes it
        assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL, "the system would bury the dead of a parent"
        return 7

    system.os.fork, system.os.waitpid = fork, lambda *which: (0, 0) if which == ANY_THAT_IS_DEAD else None
    system.os.kill = lambda child, number: sent.append((child, number, system.clock[0]))
    own = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    before = [signal.getsignal(number) for number in SIGNALS]
    assert Supervisor(1, lambda: None, lambda: None, 4.0).run() == 0
    (_, asked), (_, killed) = [(child, at) for child, _, at in sent]
    assert [(child, number) for child, number, _ in sent] == [(7, signal.SIGTERM), (7, signal.SIGKILL)]
    assert killed - asked == pytest.approx(5.75, abs=0.06)
    assert [signal.getsignal(number) for number in SIGNALS] == before
    assert signal.signal(signal.SIGCHLD, own) == signal.SIG_IGN


def test_each_sighup_is_passed_on_to_every_worker(system):
    sent, pids, rounds = [], iter((7, 8)), iter(([signal.SIGHUP, signal.SIGHUP], [], [signal.SIGTERM]))

    def waitpid(*_):
        for number in next(rounds, ()):
            signal.raise_signal(number)
        return 0, 0

    system.os.fork, system.os.waitpid = lambda: next(pids), waitpid
    system.os.kill = lambda child, number: sent.append((child, number))
    assert Supervisor(2, lambda: None, lambda: None, 0.0).run() == 0
    assert sent[:4] == [(7, signal.SIGHUP), (8, signal.SIGHUP)] * 2
    assert sent[4:] == [(child, number) for number in (signal.SIGTERM, signal.SIGKILL) for child in (7, 8)]


def test_workers_that_end_together_when_asked_to_are_buried_without_a_pause_or_a_word(system, capsys):
    pids, sent = iter((7, 8, 9)), []

    def fork():
        signal.raise_signal(signal.SIGINT)
        return next(pids)

    system.os.fork = fork
    system.os.waitpid = lambda *_: (sent.pop()[0], signal.SIGTERM) if sent else (0, 0)
    system.os.kill = lambda *given: sent.append(given)
    assert Supervisor(3, lambda: None, lambda: None, 4.0).run() == 0
    assert (system.clock, sent, capsys.readouterr().err) == ([100.0 + workers.LOOK_SECONDS], [], "")
