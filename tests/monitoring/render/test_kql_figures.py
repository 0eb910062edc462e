"""What queries answer of work that is known: the queries themselves are run, on rows that real workers left."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.docs.monitoring_files import specs
from tests.monitoring.render.kql_reference import run
from tests.monitoring.render.kusto import parsed
from tests.monitoring.render.played import Row, in_workspace, played, played_in_part

from tenure.monitoring.catalogue import AlertSeverity, AlertSpec
from tenure.monitoring.render.kql_queries import QUERIES
from tenure.monitoring.render.kql_tables import Tables, in_form
from tenure.monitoring.render.terraform_azure import alert_query

#: Reads KQL by a package of npm.
pytestmark = pytest.mark.cloud

_TEXTS = {one.id: one.text for one in QUERIES}


def answer(id: str, tables: Tables = Tables.APPLICATION_INSIGHTS) -> list[Row]:
    return _run(in_form(_TEXTS[id], tables), tables)


def _run(text: str, tables: Tables) -> list[Row]:
    rows = played().tables
    return run(parsed(text).tree, rows if tables is Tables.APPLICATION_INSIGHTS else in_workspace(rows))


def _of(rows: Sequence[Row], **chosen: Any) -> Row:
    (found,) = [row for row in rows if all(row[name] == value for name, value in chosen.items())]
    return found


def test_durations_by_container_are_those_of_the_runs() -> None:
    # 1 s to 20 s, once 5 s, once 25 s.
    found = _of(answer("processing-duration-of-messages"), container="content-processor")
    assert (found["runs"], found["Avg"]) == (22, pytest.approx(240_000 / 22))
    assert [found[name] for name in ("P50", "P95", "P99", "Max")] == [10_000, 20_000, 25_000, 25_000]


def test_gauges_have_the_same_percentiles_within_four_percent_and_the_exact_mean() -> None:
    early = answer("processing-duration")[-4:]
    found = _of(early, container="content-processor")
    assert (found["runs"], found["Avg_ms"]) == (21, pytest.approx(215_000 / 21))
    percentiles = [found[name] for name in ("P50_ms", "P95_ms", "P99_ms")]
    assert percentiles == pytest.approx([10_000, 19_000, 20_000], rel=0.04)


def test_one_run_was_at_risk_and_used_nine_tenths_of_its_lease() -> None:
    risk = {"container": "markdown-generator", "risk_count": 1, "affected_messages": 1}
    assert answer("timeout-risk") == [risk]
    (found,) = answer("timeout-utilization")
    assert (found["at_risk_count"], found["container"]) == (1, "markdown-generator")
    assert found["max_utilization"] == pytest.approx(90)


def test_a_run_that_is_renewed_is_not_at_risk_however_long_it_is() -> None:
    assert {row["container"] for row in answer("timeout-utilization")} == {"markdown-generator"}


@pytest.mark.parametrize("id", ["deletion-success", "deletion-success-by-hour"])
def test_one_delete_of_thirty_one_failed(id: str) -> None:
    (found,) = answer(id)
    assert (found["queue"], found["total_deletions"]) == ("articles", 31)
    assert (found["successful"], found["failed"]) == (30, 1)
    assert found["success_rate"] == pytest.approx(100 * 30 / 31)


def test_the_delete_that_failed_is_named() -> None:
    (found,) = answer("deletion-failures")
    assert (found["container"], found["retry_attempts"]) == ("content-processor", 1)


def test_three_of_thirty_finished_messages_were_duplicates() -> None:
    (counted,) = answer("duplicates")
    assert (counted["duplicates_count"], counted["unique_messages"]) == (3, 3)
    (rate,) = answer("duplicate-rate")
    assert (rate["duplicates"], rate["finished"], rate["duplicate_rate"]) == (3, 30, 10)


def test_three_messages_were_delivered_again() -> None:
    (found,) = answer("requeues")
    assert (found["requeue_count"], found["max_dequeues"], found["queues_affected"]) == (3, 2, 1)
    assert {row["dequeue_count"] for row in answer("redelivered-messages")} == {2}
    assert len(answer("redelivered-messages")) == 3


def test_deliveries_are_counted_by_their_number() -> None:
    assert [(row["dequeue_count"], row["messages"]) for row in answer("deliveries")] == [("1", 31), ("2", 3)]


def test_the_timeline_of_a_message_is_that_of_its_life() -> None:
    rows = [row for row in answer("message-timeline") if row["container"] == "transcode"]
    assert [(row["runs"], row["duration_ms"], row["total_time_ms"]) for row in rows] == [(1, 100_000, 100_000)] * 3
    (again,) = [row for row in answer("message-timeline") if row["duration_ms"] == 25_000]
    assert again["total_time_ms"] > 25_000, "it counts from the first worker, which died with it"
    dead = _of(answer("message-timeline"), container="site-publisher")
    assert (dead["runs"], dead["deleted"], dead["total_time_ms"]) == (2, None, None)


def test_attempts_that_failed_are_counted_by_reason() -> None:
    rows = [(row["task"], row["code"], row["then"], row["failures"]) for row in answer("failed-attempts")]
    assert rows == [
        ("site-publisher", "error", "comes back", 1), ("site-publisher", "max_attempts", "dead letter", 1)
    ]  # fmt: skip


def test_what_tenure_judged_is_listed_by_its_log_lines_and_its_events() -> None:
    assert {(row["change"], row["severity"], row["alert"], row["subject"]) for row in answer("findings")} == {
        ("fired", "page", "oldest_age", "articles"),
        ("cleared", "page", "oldest_age", "articles"),
        ("fired", "ticket", "queue_unserved", "other"),
    }


@pytest.mark.parametrize("id", _TEXTS)
def test_both_forms_of_tables_answer_the_same(id: str) -> None:
    one = [list(row.values()) for row in answer(id)]
    assert one == [list(row.values()) for row in answer(id, Tables.WORKSPACE)]


def test_what_was_sampled_counts_for_all_that_it_stands_for() -> None:
    # 400 runs of 1 s, of which a quarter is followed, and one run that nearly used up its lease, which always is.
    text = in_form(_TEXTS["processing-duration-of-messages"], Tables.APPLICATION_INSIGHTS)
    (found,) = run(parsed(text).tree, played_in_part().tables)
    risks = [row["customDimensions"].get("timeout_risk") for row in played_in_part().tables["customEvents"]]
    chosen = risks.count("OK")
    assert 0 < chosen < 400
    assert found["runs"] == 4 * chosen + 1
    assert (found["P50"], found["P99"], found["Max"]) == (1_000, 1_000, 9_000)


# -- alerts ---------------------------------------------------------------------------------------

_FIRES = {
    # By alert: the levels whose rows are there, with what is measured.
    "duplicates": {"show": 0.1},  # 30 samples: too few for more
    "deletion_failures": {},
    "lease_use": {},
    "redelivered": {},
    "work_done_twice": {"ticket": 1},
    "workers_crashing": {"ticket": 1},
    "dead_letters": {"show": 1},
    "heartbeats_failing": {},
    "leases_lost": {},
    "store_away": {},
    "workers_absent": {},
    "webhooks_failing": {},
    "webhook_disabled": {},
    "endings_untold": {},
    "journal_behind": {},
    "clock_skew": {},
    "sweep_late": {},
}


@pytest.mark.parametrize("tables", Tables)
@pytest.mark.parametrize("id", _FIRES)
def test_an_alert_fires_at_the_levels_that_its_figures_reach(id: str, tables: Tables) -> None:
    (spec,) = [one for one in specs() if one.id == id]
    fired: dict[str, float] = {}
    for level in spec.levels:
        rows = _run(alert_query(spec, level, tables), tables)
        above = [row["value"] for row in rows if row["value"] is not None and row["value"] > level.fire]
        if above:
            fired[level.severity.value] = max(above)
    assert fired == pytest.approx(_FIRES[id])


def test_a_stronger_level_takes_the_place_of_a_milder_one_once_there_are_enough_samples() -> None:
    (spec,) = [one for one in specs() if one.id == "duplicates"]
    assert _fired(spec, _counted(duplicate=30, completed=270)) == [AlertSeverity.PAGE]
    assert _fired(spec, _counted(duplicate=3, completed=297)) == [AlertSeverity.TICKET]
    assert _fired(spec, _counted(duplicate=1, completed=299)) == [AlertSeverity.SHOW]
    assert _fired(spec, _counted(completed=300)) == []


def test_without_a_worker_its_absence_is_seen() -> None:
    (spec,) = [one for one in specs() if one.id == "workers_absent"]
    query = alert_query(spec, spec.levels[0], Tables.WORKSPACE)
    assert run(parsed(query).tree, {"AppMetrics": []}) == [{"value": 1}]


def _counted(**outcomes: int) -> list[Row]:
    return [
        {
            "Name": "tenure.messages",
            "Sum": float(number),
            "Properties": {"messaging.destination.name": "articles", "tenure.outcome": outcome},
        }
        for outcome, number in outcomes.items()
    ]


def _fired(spec: AlertSpec, rows: list[Row]) -> list[AlertSeverity]:
    return [
        level.severity
        for level in spec.levels
        for row in run(parsed(alert_query(spec, level, Tables.WORKSPACE)).tree, {"AppMetrics": rows})
        if row["value"] > level.fire
    ]
