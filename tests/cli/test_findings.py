"""`tenure findings`: what people read, what scripts ask, and acts under the caller's name."""

import asyncio
from pathlib import Path

import yaml

from tenure import Tenure
from tenure.client.finding_store import FindingStore
from tenure.monitoring.alerting.finding import AlertState, Evaluator
from tenure.monitoring.catalogue import AlertSeverity

from .conftest import Run, answer

APP = "jobs:app"


def _judged(*states: AlertState, for_seconds: float = 600) -> None:
    """As the evaluator would have kept it a moment ago."""

    async def keep() -> None:
        async with Tenure("sqlite:///jobs.db") as app:
            now, store = app.state.wall(), FindingStore(app.state)
            for state in states:
                await store.put(state, None)
            await store.note_evaluator(Evaluator(at=now, since=now - for_seconds, by="me"))

    asyncio.run(keep())


def test_it_says_that_nothing_judges_and_then_that_nothing_is_wrong(tenure: Run, folder: Path) -> None:
    assert "Nothing has judged alerts here yet: a worker" in tenure("findings", APP).stdout
    assert tenure("findings", APP, "--check").exit_code == 1
    _judged()
    assert tenure("findings", APP).stdout == "Nothing is wrong.\n"
    assert tenure("findings", APP, "--check").exit_code == 0


def test_soon_after_a_start_it_says_that_some_alerts_are_not_judged_yet(tenure: Run, folder: Path) -> None:
    _judged(for_seconds=20)
    shown = tenure("findings", APP).stdout
    assert shown.startswith("Nothing is wrong so far. Some alerts are judged in 1")
    assert answer(tenure("findings", APP, "--json"))["settling_until"] is not None
    _judged(for_seconds=130)
    assert answer(tenure("findings", APP, "--json"))["settling_until"] is None


def test_the_rules_are_printed_as_a_file_that_prometheus_reads(tenure: Run) -> None:
    for words, key in (((), "groups"), (("--alertmanager",), "inhibit_rules")):
        printed = tenure("findings", "rules", *words).stdout
        assert list(yaml.safe_load(printed)) == [key]
        assert answer(tenure("findings", "rules", *words, "--json"))["rules"] == printed


def test_a_finding_is_shown_seen_and_silenced(tenure: Run, folder: Path) -> None:
    state = AlertState(
        alert="dead_letters", subject="mail", queue="mail", severity=AlertSeverity.TICKET, fired_at=1.0,
        evidence="14 messages became dead letters in 15 min",
    )  # fmt: skip
    _judged(state)
    shown = tenure("findings", APP).stdout
    assert "ticket" in shown
    assert "dead_letters@mail" in shown
    assert tenure("findings", APP, "--check").exit_code == 1
    assert "seen by" in tenure("findings", "ack", APP, "dead_letters@mail").stdout
    assert tenure("findings", APP, "--check").exit_code == 0
    assert "silenced for 2 h" in tenure("findings", "silence", APP, "dead_letters@mail", "--for", "2h").stdout
    assert "not silenced" in tenure("findings", "silence", APP, "dead_letters@mail", "--for", "0").stdout
    unknown = tenure("findings", "ack", APP, "dead_letters@mial")
    assert unknown.exit_code == 2
    assert "error[unknown_finding]" in unknown.stderr
    assert "dead_letters@mail" in unknown.stderr
