"""The machinery of `make proof-speed` and `make proof-faults`: verdicts, pins and pages; and small tables of both.

The tables have Tenure and a bare loop in them, which need no environment of their own; the others are in
`test_proof_peers.py`.
"""

import io
import re
from pathlib import Path

import pytest
from benchmarks.proof import page, speed
from benchmarks.proof.arguments import Arguments
from benchmarks.proof.environment import Environment
from benchmarks.proof.faults import FAULTS
from benchmarks.proof.faults.__main__ import play
from benchmarks.proof.peer import PEERS, Contender, chosen, contenders
from benchmarks.proof.program import Worker
from benchmarks.proof.stage import Scale, Stage
from benchmarks.proof.trace import Run
from benchmarks.proof.verdict import Verdict, Whereabouts, judge
from rich.console import Console

SMALL = Scale(lease=2.0, kills=1, patience=6.0, longest=120.0, away=0.5)
LATER = float("inf")


class Ended(Worker):
    """A worker as the judge sees it."""

    def __init__(self, pid: int, killed_at: float | None = None, frozen: tuple[float, float] | None = None) -> None:
        self.pid, self.killed_at, self.frozen = pid, killed_at, frozen


def run(id: str, worker: int, start: float, end: float | None) -> Run:
    return Run(id, worker, worker, start, end, is_stopped=False)


def verdict(
    runs: list[Run], *workers: Worker, effects: list[str] | None = None, where: dict[str, Whereabouts] | None = None
) -> Verdict:
    return judge(["a", "b"], runs, workers, where or {}, effects=effects, note="")


def contender(key: str) -> Contender:
    (found,) = chosen(contenders("redis", "sqlite"), [key])
    return found


def test_a_message_that_ends_once_in_one_run_is_all_right() -> None:
    found = verdict([run("a", 1, 0.0, 1.0), run("b", 1, 0.0, 1.0)], Ended(1))
    assert found.told == "ok"


def test_a_message_without_an_end_is_lost_stuck_or_dead_by_where_it_lies() -> None:
    found = verdict([], where={"a": "gone", "b": "waiting"})
    assert (found.lost, found.stuck, found.dead) == (1, 1, 0)
    assert verdict([], where={"a": "dead", "b": "waiting"}).told == "1 stuck, 1 dead"


def test_two_runs_that_end_are_a_run_twice_and_an_effect_twice_unless_effects_say_otherwise() -> None:
    runs = [run("a", 1, 0.0, 1.0), run("a", 2, 5.0, 6.0), run("b", 1, 0.0, 1.0)]
    assert (verdict(runs).twice, verdict(runs).effects_twice) == (1, 1)
    assert (verdict(runs, effects=["a", "b"]).twice, verdict(runs, effects=["a", "b"]).effects_twice) == (1, 0)
    assert verdict(runs, effects=["a", "b"]).told == "1 twice, no effect twice"


def test_a_run_ends_with_its_killed_worker_and_overlaps_nothing_later() -> None:
    runs = [run("a", 1, 0.0, None), run("a", 2, 2.0, 3.0)]
    assert verdict(runs, Ended(1, killed_at=1.0), Ended(2)).overlapping == 0
    assert verdict(runs, Ended(1, killed_at=2.9), Ended(2)).overlapping == 1


def test_a_frozen_worker_is_not_at_work_until_it_goes_on() -> None:
    runs = [run("a", 1, 0.0, 9.1), run("a", 2, 5.0, 6.0)]
    assert verdict(runs, Ended(1, frozen=(0.5, 9.0)), Ended(2)).overlapping == 0
    assert verdict(runs, Ended(1, frozen=(0.5, 5.2)), Ended(2)).overlapping == 1


@pytest.mark.parametrize("peer", [one.key for one in contenders() if one.peer.language == "python"])
def test_every_package_of_a_peer_is_pinned_with_hashes(peer: str) -> None:
    text = (PEERS / peer / "requirements.txt").read_text(encoding="utf-8")
    packages = re.findall(r"^[a-z].*", text, re.MULTILINE)
    assert packages
    assert all("==" in package for package in packages)
    assert text.count("--hash=sha256:") >= len(packages)
    assert "://" not in text


def test_the_packages_for_node_are_pinned_with_hashes() -> None:
    text = (PEERS / "bullmq" / "package-lock.json").read_text(encoding="utf-8")
    assert '"integrity": "sha512-' in text
    assert '"resolved"' not in text


def test_every_configuration_says_what_it_guarantees() -> None:
    for one in contenders("redis"):
        for setup in filter(None, (one.peer.fast, one.peer.safe)):
            assert setup.how
            assert setup.guarantee


def test_a_wrong_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"no 'celary'; there are .*celery"):
        chosen(contenders("redis"), ["celary"])


def test_the_page_has_the_tables_as_the_command_makes_them() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    machine = {"date": "2030-01-01", "Python": "3.11"}
    setups = {"fast": {"per_second": 10.0, "rounds": [10.0], "sent_per_second": 5.0, "how": "h", "guarantee": "g"}}
    row = {"key": "x", "name": "X", "version": "1", "reason": "", "setups": setups}
    table = {"kind": "speed", "command": "make proof-speed", "machine": machine, "rows": [row]}
    changed = page.insert(text, table)
    assert "| X | 1 | 10 |  | – | 5 |" in changed
    assert "Made by `make proof-speed`. Date: 2030-01-01; Python: 3.11." in changed
    assert page.insert(changed, table) == changed
    assert changed.count("<!-- faults: begin -->") == 1


@pytest.mark.timeout(300)
def test_the_speed_of_tenure_and_of_a_bare_loop_is_measured_in_turns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(speed, "FIRST", 600)
    monkeypatch.setattr(speed, "LARGEST", 600)
    monkeypatch.setattr(speed, "ROUNDS", {True: 1})
    found = [contender("tenure_sqlite"), contender("bare_sqlite")]
    console = Console(file=io.StringIO(), width=200)
    figures = speed.measure(found, console, quick=True, budget=LATER)
    assert [one.reason for one in figures] == ["", ""]
    rates = [one.rates["fast"] for one in figures]
    assert all(rate is not None and len(rate.drained) == 1 and rate.drained[0] > 0 for rate in rates)
    arguments = Arguments(
        ["tenure_sqlite"], [], quick=True, budget=LATER, json=tmp_path / "table.json", update_docs=False
    )
    page.finish(speed.document(figures, {"date": "today"}, arguments), arguments, console)
    assert (tmp_path / "table.json").exists()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("key", "seconds", "stuck"), [("tenure_sqlite", 1.0, False), ("bare_redis", 30.0, True)])
def test_a_kill_loses_nothing_of_tenure_and_leaves_work_of_a_bare_loop_behind(
    monkeypatch: pytest.MonkeyPatch, key: str, seconds: float, stuck: bool
) -> None:
    def kill_one(stage: Stage) -> None:
        """Killed in the middle of its first batch, however slow the machine is."""
        stage.send(8, seconds)
        worker = stage.start()
        assert stage.wait(lambda: bool(stage.runs()), 90.0)
        stage.kill(worker)
        stage.start()
        stage.settle()

    monkeypatch.setitem(FAULTS, "kill_one", kill_one)
    cell = play(
        contender(key),
        Environment(contender(key).peer),
        "kill_one",
        SMALL._replace(patience=5.0 if stuck else 30.0),
        LATER,
    )
    assert (cell["lost"], cell["dead"], cell["overlapping"], cell["effects_twice"]) == (0, 0, 0, 0), cell
    assert (cell["stuck"] > 0) is stuck, cell


def test_what_is_late_is_left_out_and_said() -> None:
    one = contender("tenure_sqlite")
    assert play(one, Environment(one.peer), "poison", SMALL, 0.0)["reason"] == "no time left (`--quick`)"


def test_a_fault_that_a_store_does_not_know_is_said() -> None:
    one = contender("tenure_sqlite")
    cell = play(one, Environment(one.peer), "cut_connection", SMALL._replace(patience=0.1), LATER)
    assert cell["told"] == "n/a"
