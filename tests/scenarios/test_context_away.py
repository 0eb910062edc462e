"""A server that goes away while handlers write checkpoints and progress: they wait, and nobody pays for it."""

import re
import time
from collections import Counter

from tests.servers import RedisServer

from tenure.event import EventKind

from .grounds import SERVERS, on
from .process import Process
from .stage import Stage

#: Time, level and logger of a line of `tenure worker`.
LINE = re.compile(r"^\S+ \S+ (\w+) +(tenure\.\w+)  (.*)$", re.MULTILINE)


@on(*SERVERS, own=True)
def test_checkpoints_during_an_outage_use_no_attempt_and_each_logger_says_it_once(
    stage: Stage, server: RedisServer
) -> None:
    """Each handler has one attempt, in the loop, a thread and a child process; the outage is longer than the lease."""
    stage.configure(lease=2, sweep_interval=1)
    worker = stage.worker(concurrency=10)
    ids = stage.submit_many("keep_pages", [{"gate": "open"}] * 3)
    ids += stage.submit_many("keep_pages_in_thread", [{"gate": "open"}] * 3)
    ids += stage.submit_many("keep_pages_in_process", [{"gate": "open"}])
    stage.until(lambda: all(stage.record(id).progress for id in ids), "every handler has told its progress")

    server.kill()
    stage.until(lambda: _said(worker, "trying again"), "the outage is noticed")
    time.sleep(5.0)  # the length of the outage is the scenario, not a wait for something
    server.restart()
    stage.until(lambda: "WARNING" in {level for level, _, _ in _said(worker, "works again")}, "the outage is over")
    stage.open_gate("open")
    stage.until_settled()

    stage.verdict()
    assert len(stage.runs(ids)) == len(ids), "each ran once"
    assert all(stage.record(id).counters.attempts == 0 for id in ids)
    assert not stage.events(EventKind.RETRIED, EventKind.DEAD)
    told = _said(worker, "trying again")
    loggers = Counter(logger for _, logger, _ in told)
    assert max(loggers.values()) == 1, told
    assert {"tenure.context", "tenure.progress"} <= loggers.keys()
    for said in (told, _said(worker, "works again")):
        assert sum(level == "WARNING" for level, _, _ in said) == 1, said
    assert "1 messages" not in worker.said
    during = worker.said[worker.said.index("trying again") : worker.said.index("works again")]
    lines = Counter((level, logger, text) for level, logger, text in LINE.findall(during))
    assert not [line for line, count in lines.items() if count > 1], lines


def _said(worker: Process, words: str) -> list[tuple[str, str, str]]:
    return [line for line in LINE.findall(worker.said) if words in line[2]]
