"""`tenure timing`: the table and its findings, why step by step, and what is believed beforehand."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tenure import Tenure
from tenure.cli.commands.timing.list import table
from tenure.client.operations.task_timing import TaskTiming, task_timing
from tenure.event import Event, EventKind
from tenure.sample import Sample
from tenure.timing.figures import Durations, Standing, TaskFigures
from tenure.timing.forecast import forecasts
from tenure.timing.learned import LEAST_SECONDS

from .conftest import URL, Run, answer, there, worked

QUEUE = "default-tasks"


def _told(*events: tuple[EventKind, dict[str, Any]], task: str = "resize", queue: str = QUEUE) -> None:
    """Events of the last moment."""

    async def append(app: Tenure) -> None:
        wall = app.clock.wall()
        await app.state.journal.append(
            [
                Event(kind, wall, queue, task, f"m{place}", "w/1", 1, 1.0, data)
                for place, (kind, data) in enumerate(events)
            ]
        )

    there(append)


def _took(
    *seconds: float, task: str = "resize", queue: str = QUEUE, hardware: str = "x 2", size: int | None = None
) -> None:
    """Samples of the last moment."""

    async def sample(app: Tenure) -> None:
        wall = app.clock.wall()
        await app.state.journal.sample(
            [Sample(queue, task, one, wall, size=size, hardware=hardware) for one in seconds]
        )

    there(sample)


def _document(tenure: Run, *words: str) -> dict[str, Any]:
    return answer(tenure("timing", *(words or ("jobs:app",)), "--json"))


def _task(document: dict[str, Any], name: str = "resize") -> dict[str, Any]:
    (found,) = [task for task in document["tasks"] if task["task"] == name]
    assert isinstance(found, dict)
    return found


# -- the table -------------------------------------------------------------------------------------


def test_a_real_run_is_measured_and_judged(tenure: Run) -> None:
    for id in ("a", "b"):
        tenure("submit", "jobs:app", "resize", '{"image": "x"}', "--id", id)
    tenure("submit", "jobs:app", "flaky", "--id", "c")
    worked("a", "b", "c")
    document = _document(tenure)
    resize, flaky = _task(document), _task(document, "flaky")
    assert (resize["completed"], resize["redelivered"]) == (2, {"retry": 0, "expiry": 0, "crash": 0})
    assert (resize["lease_seconds"], resize["renewed"], resize["use"]) == (30.0, True, None)
    assert resize["durations"]["samples"] == 2
    assert (flaky["completed"], flaky["redelivered"]["retry"]) == (1, 1)
    assert [finding["id"] for finding in document["findings"]] == ["redelivered_retry", "healthy"]
    assert (resize["deletes"], resize["deletes_failed"], resize["deletion_failure_rate"]) == (2, 0, 0.0)
    assert document["cut"] is False


def test_an_app_shows_all_its_tasks_and_a_place_only_those_that_ran(tenure: Run) -> None:
    _told((EventKind.COMPLETED, {}))
    document = _document(tenure)
    assert {task["task"] for task in document["tasks"]} == {"resize", "nap", "flaky", "stuck"}
    nap = _task(document, "nap")
    assert (nap["durations"], nap["completed"], nap["duplicate_rate"]) == (None, 0, None)
    place = _document(tenure, URL)
    assert [task["task"] for task in place["tasks"]] == ["resize"]
    assert (_task(place)["lease_seconds"], _task(place)["renewed"], _task(place)["first_beat_seconds"]) == (None,) * 3
    assert "The policy is not known from a URL" in tenure("timing", URL).stdout


def test_the_findings_stand_below_the_table_the_worst_first(tenure: Run) -> None:
    died: dict[str, Any] = {"code": "process_died"}
    _told(*[(EventKind.COMPLETED, {})] * 80, *[(EventKind.DUPLICATE, {})] * 10, (EventKind.RETRIED, died))
    lines = tenure("timing", "jobs:app").stdout.splitlines()
    assert lines[0].split()[:4] == ["task", "queue", "runs", "typical"]
    heads = [line.split()[:2] for line in lines if line.startswith(("critical", "warning", "info"))]
    assert heads == [["critical", "duplicates"], ["warning", "redelivered_crash"]]
    assert "          10 of 90 were delivered again after they were completed, and were only deleted (11.1 %)" in lines


def test_what_matters_little_and_is_true_of_many_tasks_is_told_once(tenure: Run) -> None:
    for number in range(6):
        _told((EventKind.COMPLETED, {}), task=f"t{number}")
    shown = tenure("timing", URL).stdout
    assert shown.count("healthy") == 1
    assert "healthy  t0 on default-tasks, t1 on default-tasks, t2 on default-tasks and 3 more\n" in shown
    assert len(_document(tenure, URL)["findings"]) == 6


def test_the_words_before_the_command_may_be_left_out(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _told((EventKind.COMPLETED, {}))
    expected = tenure("timing", "list", "jobs:app").stdout
    assert "resize" in expected
    assert tenure("timing", "jobs:app").stdout == expected
    monkeypatch.setenv("TENURE_URL", "jobs:app")
    assert tenure("timing").stdout == expected
    assert answer(tenure("timing", "--json"))["tasks"]
    mistyped = tenure("timing", "explian", "jobs:app")
    assert "no command 'explian'; did you mean 'explain'?" in mistyped.stderr


def test_one_queue_and_one_window_can_be_asked_for(tenure: Run) -> None:
    _told((EventKind.COMPLETED, {}))
    assert [task["task"] for task in _document(tenure, "jobs:app", "--queue", "slow")["tasks"]] == ["nap", "stuck"]
    assert "error[unknown_queue]" in tenure("timing", "jobs:app", "--queue", "nix").stderr

    async def long_ago(app: Tenure) -> None:
        await app.state.journal.append([Event(EventKind.COMPLETED, app.clock.wall() - 7200, QUEUE, "old", "o")])

    there(long_ago)
    assert _task(_document(tenure, URL), "old")["completed"] == 1
    assert [task["task"] for task in _document(tenure, URL, "--since", "1h")["tasks"]] == ["resize"]


def test_where_nothing_ran_that_is_said(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "x"}')
    assert tenure("timing", URL, "--since", "90m").stdout == "No task has run here in the last 90 min.\n"


def test_an_app_with_a_namespace_sees_its_own_tasks(tenure: Run, folder: Path) -> None:
    (folder / "shop.py").write_text((folder / "jobs.py").read_text().replace('jobs.db"', 'jobs.db", namespace="shop"'))
    _told((EventKind.COMPLETED, {}), task="theirs")
    _told((EventKind.COMPLETED, {}), queue="shop/default-tasks")
    document = _document(tenure, "shop:app")
    assert _task(document)["completed"] == 1
    assert "theirs" not in {task["task"] for task in document["tasks"]}


def _rows() -> list[TaskTiming]:
    took = Durations(1000, 0, 40.0, 41.0, 72.5, 123.0, 3600.0)
    named = TaskFigures(queue="a-queue-with-a-long-name-of-its-own", task="a_task_with_a_very_long_name_that_gives_way",
                    standing=Standing(600.0, is_renewed=False), durations=took, completed=123_456, retried=1_234,
                    expired=None, crashed=12, advised_hold_seconds=10_800.0)  # fmt: skip
    renewed = TaskFigures(queue="q", task="t", standing=Standing(30.0))
    return [task_timing(one, None, [], forecasts([]), 0.0) for one in (named, renewed)]


def test_a_task_after_the_target_is_told_where_it_belongs(tenure: Run) -> None:
    result = tenure("timing", "jobs:app", "greet")
    assert result.exit_code == 2
    assert "error[usage]" in result.stderr
    assert "tenure timing explain jobs:app greet" in result.stderr


@pytest.mark.parametrize("width", [80, 118, 120, 200])
def test_names_give_way_and_figures_do_not(width: int) -> None:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(table(_rows(), width))
    text = capture.get()
    assert all(len(line) <= width for line in text.splitlines())
    for figure in ("123,456", "41 s", "2 min 3 s", "10 min", "20.5 %", "1234/–/12", "renewed", "3 h"):
        assert figure in text, figure


def _without_heartbeat(folder: Path) -> None:
    """Two tasks whose leases nobody renews: one that was set, one that is learned."""
    (folder / "plain.py").write_text(
        "from tenure import Tenure\n"
        'app = Tenure("sqlite:///jobs.db")\n'
        "@app.task(heartbeat=False, lease=60)\n"
        "async def fixed(name: str) -> None: ...\n"
        "@app.task(heartbeat=False)\n"
        "async def learned(name: str) -> None: ...\n"
        '@app.task(heartbeat=False, profile="content-processor")\n'
        "async def believed(name: str) -> None: ...\n"
    )


def test_where_nobody_renews_a_lease_its_use_is_judged(tenure: Run, folder: Path) -> None:
    _without_heartbeat(folder)
    for task in ("fixed", "learned"):
        _told((EventKind.COMPLETED, {}), task=task)
        _took(*[55.0] * 150, task=task)
    document = _document(tenure, "plain:app")
    fixed, learned = _task(document, "fixed"), _task(document, "learned")
    assert (fixed["lease_seconds"], fixed["renewed"], fixed["learned"]) == (60.0, False, False)
    assert fixed["use"] == pytest.approx(55 / 60)
    assert fixed["first_beat_seconds"] is None
    assert learned["learned"] is True
    assert learned["lease_seconds"] == learned["forecast"]["lease_seconds"] == pytest.approx(97, abs=2)
    assert learned["use"] == pytest.approx(1 / 1.75, rel=0.03)
    (critical,) = [one for one in document["findings"] if one["severity"] == "critical"]
    assert (critical["id"], critical["subject"]) == ("lease_use_critical", "fixed on default-tasks")
    advised = fixed["forecast"]["lease_seconds"]  # the one that stands beside it, which is more than half as much again
    assert critical["remedy"] == f"Raise the lease to {advised:g} s, or switch the heartbeat on."
    assert "91.7 %" in tenure("timing", "plain:app").stdout


def test_the_lease_of_short_work_is_the_one_that_a_worker_asks_for(tenure: Run, folder: Path) -> None:
    _without_heartbeat(folder)
    _told((EventKind.COMPLETED, {}), task="learned")
    _took(*[0.2] * 150, task="learned")
    learned = _task(_document(tenure, "plain:app"), "learned")
    assert learned["lease_seconds"] == LEAST_SECONDS
    assert "and the least is 5 s" in tenure("timing", "explain", "plain:app", "learned").stdout


def test_explain_says_whose_number_a_lease_is(tenure: Run, folder: Path) -> None:
    _without_heartbeat(folder)
    tenure("submit", "plain:app", "fixed", '{"name": "x"}')
    assert "the lease is 60 s, and it is not renewed" in tenure("timing", "explain", "plain:app", "fixed").stdout
    shown = tenure("timing", "explain", "plain:app", "learned").stdout
    assert "the lease is learned, 60 s by now, and it is not renewed" in shown
    shown = tenure("timing", "explain", "plain:app", "believed").stdout
    assert "its profile is content-processor" in shown
    assert "So: a run ends after about 45 s; by these numbers the lease is 158 s." in shown


# -- why -------------------------------------------------------------------------------------------


def test_explain_shows_policy_samples_and_every_step(tenure: Run) -> None:
    _took(*[4.5] * 150, *[41.0] * 5)
    shown = tenure("timing", "explain", "jobs:app", "resize").stdout
    assert shown.startswith("resize on default-tasks\nPolicy: the lease is 30 s, and the heartbeat renews it")
    assert "Samples: 155 runs over 0.0 s (155 on x with 2 cores); none with a size; there is no profile of it." in shown
    for words in ("half of them 4.5 s or less", "predicted", "spread", "q99", "caution", "× 1.75",
                  "the first beat is due after 10 s, and 99 of 100 runs need 4 at most",
                  "A lease without a heartbeat on x with 2 cores:", "72 s: q99 41 s of 1"):  # fmt: skip
        assert words in shown, words
    (found,) = answer(tenure("timing", "explain", "jobs:app", "resize", "--json"))["explained"]
    assert (found["task"], found["queue"], found["hardware"]) == ("resize", QUEUE, {"x 2": 155})
    assert [step["name"] for step in found["forecasts"][0]["steps"]] == [
        "predicted", "spread", "q99", "caution", "margin", "lease",
    ]  # fmt: skip
    assert found["standing"]["lease_seconds"] == 30.0


def test_explain_with_a_place_alone_says_that_the_policy_is_unknown(tenure: Run) -> None:
    _told((EventKind.COMPLETED, {}), task="sort", queue="elsewhere")
    _took(2.0, task="sort", queue="elsewhere")
    shown = tenure("timing", "explain", URL, "sort").stdout
    assert shown.startswith("sort on elsewhere\nPolicy: not known from a URL")
    (found,) = answer(tenure("timing", "explain", URL, "sort", "--json"))["explained"]
    assert found["standing"] is None
    assert found["first_beat_seconds"] is None


def test_explain_counts_a_single_run_as_one(tenure: Run) -> None:
    _took(2.0)
    assert "of 1 run, which count" in tenure("timing", "explain", "jobs:app", "resize").stdout


def test_explain_tells_each_kind_of_machine_apart(tenure: Run) -> None:
    _took(*[2.0] * 120, hardware="new 8")
    _took(*[20.0] * 120, hardware="old 2")
    shown = tenure("timing", "explain", "jobs:app", "resize").stdout
    assert "(120 on new with 8 cores, 120 on old with 2 cores)" in shown
    assert "A lease without a heartbeat on new with 8 cores:" in shown
    assert "A lease without a heartbeat on old with 2 cores:" in shown


def test_explain_predicts_a_size(tenure: Run) -> None:
    for size in (1_000_000, 10_000_000, 40_000_000) * 40:
        _took(1.0 + size / 1e6, size=size)
    (found,) = answer(tenure("timing", "explain", "jobs:app", "resize", "--size", "80000000", "--json"))["explained"]
    assert found["sized"] == 120
    assert found["forecasts"][0]["typical_seconds"] == pytest.approx(81.0, rel=0.1)
    assert "size 80 MB" in tenure("timing", "explain", "jobs:app", "resize", "--size", "80000000").stdout


def test_without_samples_the_profile_answers_and_that_is_said(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "x"}')
    shown = tenure("timing", "explain", URL, "content-processor").stdout
    assert "Samples: none; no run of it was measured here, and its profile is content-processor." in shown
    assert "158 s: 45 s by profile content-processor × 2 × 1.75" in shown
    unknown = tenure("timing", "explain", "jobs:app", "nap").stdout
    assert "it is unknown how long a run takes" in unknown
    assert "nothing was measured, and there is no profile" in unknown


def test_explain_asks_for_one_task_and_guesses_at_a_mistyped_one(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "x"}')
    for words in ([], ["a", "b"]):
        result = tenure("timing", "explain", "jobs:app", *words)
        assert (result.exit_code, "which task?" in result.stderr) == (2, True)
    assert "did you mean 'resize'?" in tenure("timing", "explain", "jobs:app", "resiz").stderr


# -- what is believed beforehand ----------------------------------------------------------------------


def test_the_documented_table_comes_out(tenure: Run) -> None:
    document = answer(tenure("timing", "profiles", "--json"))
    services = {one["service"]: one for one in document["profiles"]}
    assert {name: one["timeout_seconds"] for name, one in services.items()} == {
        "content-collector": 180,
        "content-processor": 90,
        "markdown-generator": 60,
        "site-publisher": 180,
    }
    assert {one["use"] for one in services.values()} == {0.5}
    assert [one["safety_margin_seconds"] for one in services.values()] == [90, 45, 30, 90]
    assert [(one["seconds"], one["timeout_seconds"]) for one in document["sizes"]] == [
        (180, 300),
        (420, 600),
        (1140, 1200),
        (1860, 2100),
        (2880, 3000),
    ]
    shown = tenure("timing", "profiles").stdout
    assert "content-processor   10 s     45 s   90 s  120 s  158 s     90 s  50 %    45 s" in shown


def test_a_lease_is_one_number_in_profiles_and_in_explain(tenure: Run, folder: Path) -> None:
    (folder / "all.py").write_text(
        "from tenure import Tenure\n"
        'app = Tenure("sqlite:///jobs.db")\n'
        "for name in ('content-collector', 'content-processor', 'markdown-generator', 'site-publisher'):\n"
        "    @app.task(name=name, heartbeat=False)\n"
        "    async def work(name: str) -> None: ...\n"
        "@app.task(heartbeat=False, profile='transcoding', size='bytes')\n"
        "async def transcode(file: str, bytes: int) -> None: ...\n"
    )
    document = answer(tenure("timing", "profiles", "--json"))

    def explained(*words: str) -> float:
        (found,) = answer(tenure("timing", "explain", "all:app", *words, "--json"))["explained"]
        return float(found["forecasts"][0]["lease_seconds"])

    for one in document["profiles"]:
        assert explained(one["service"]) == one["lease_seconds"], one
    for one in document["sizes"]:
        assert explained("transcode", "--size", f"{one['size_bytes']:.0f}") == one["lease_seconds"], one
    shown = tenure("timing", "profiles").stdout
    assert "lease: what a task with this profile asks for before its first run, if it has heartbeat=False" in shown
    assert "timeout: for a loop of your own (tenure.standalone): typical × 1.75, rounded up to 30 s" in shown


def test_rows_that_use_eighty_percent_or_more_are_marked(tenure: Run) -> None:
    rows = [line for line in tenure("timing", "profiles").stdout.splitlines() if line.startswith("transcoding")]
    assert [row.split("!")[0].split()[-2:] for row in rows if "!" in row] == [["95", "%"], ["89", "%"], ["96", "%"]]
    assert len(rows) == 5
    assert "!: 80 % or more of it is used" in tenure("timing", "profiles").stdout
    assert [one["too_short"] for one in answer(tenure("timing", "profiles", "--json"))["sizes"]] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_quantile_of_few_runs_is_marked_as_the_longest(tenure: Run) -> None:
    _told((EventKind.COMPLETED, {}))
    _took(*[2.0] * 50, 7.0)
    shown = tenure("timing", URL).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("resize")]
    assert row.split()[2:9] == ["1", "2.0", "s", "2.0", "s", "7.0", "s*"]
    assert "*: the longest run; there are too few runs for the quantile" in shown
    _took(*[2.0] * 60)
    assert "*" not in tenure("timing", URL).stdout
    assert "99 of 100 2.0 s;" in tenure("timing", "explain", URL, "resize").stdout


def test_a_high_use_of_a_lease_is_marked_in_the_table(tenure: Run, folder: Path) -> None:
    _without_heartbeat(folder)
    _told((EventKind.COMPLETED, {}), task="fixed")
    _took(*[55.0] * 150, task="fixed")
    assert "91.7 % !" in tenure("timing", "plain:app").stdout


def test_a_third_of_a_lease_is_told_in_few_digits(tenure: Run, folder: Path) -> None:
    (folder / "short.py").write_text(
        "from tenure import Tenure\n"
        'app = Tenure("sqlite:///jobs.db")\n'
        "@app.task(lease=4)\n"
        "async def short(name: str) -> None: ...\n"
    )
    shown = tenure("timing", "short:app").stdout
    assert "1.33 s" in shown
    assert "1.333" not in shown


def test_a_profile_that_applies_by_the_name_of_the_task_is_said_to(tenure: Run, folder: Path) -> None:
    (folder / "named.py").write_text(
        "from tenure import Tenure\n"
        "from tenure.timing.profile import Profile\n"
        'app = Tenure("sqlite:///jobs.db")\n'
        "@app.task(name='site-publisher', heartbeat=False)\n"
        "async def publish(name: str) -> None: ...\n"
        "@app.task(heartbeat=False, profile='content-processor')\n"
        "async def chosen(name: str) -> None: ...\n"
        "@app.task(heartbeat=False, profile=Profile(1, 2, 3, 4))\n"
        "async def own(name: str) -> None: ...\n"
    )
    shown = tenure("timing", "explain", "named:app", "site-publisher").stdout
    assert (
        "Profile: site-publisher, which ships with Tenure: 90 s typical, 30 to 300 s. It applies because the task has "
        "that name; profile= names another. It counts less with each run, and not at all from 100 runs on." in shown
    )
    chosen = tenure("timing", "explain", "named:app", "chosen").stdout
    assert "Profile: content-processor, which ships with Tenure: 45 s typical, 10 to 120 s. The task names it" in chosen
    own = tenure("timing", "explain", "named:app", "own").stdout
    assert "Profile: its own: 2 s typical, 1 to 4 s." in own
    listed = tenure("timing", "named:app").stdout
    assert "site-publisher on default-tasks: by its profile site-publisher, until a run is measured" in listed
    (found,) = answer(tenure("timing", "explain", "named:app", "site-publisher", "--json"))["explained"]
    assert (found["profile"], found["profile_by_name"]) == ("site-publisher", True)


def test_explain_takes_sizes_as_people_write_them(tenure: Run) -> None:
    assert "size 2 GiB" in tenure("timing", "explain", "jobs:app", "resize", "--size", "2GiB").stdout
    refused = tenure("timing", "explain", "jobs:app", "resize", "--size", "inf")
    assert refused.exit_code == 2
    assert "'inf' is not a size; write 500, 80kB, 1.5GB or 2GiB" in refused.stderr


def test_explain_refuses_a_queue_that_nobody_knows(tenure: Run) -> None:
    refused = tenure("timing", "explain", "jobs:app", "resize", "--queue", "slwo")
    assert refused.exit_code == 2
    assert "there is no queue 'slwo'" in refused.stderr
    assert "did you mean 'slow'?" in refused.stderr


def test_explain_shows_a_task_on_another_queue_where_it_never_ran(tenure: Run) -> None:
    assert tenure("timing", "explain", "jobs:app", "resize", "-q", "slow").stdout.startswith("resize on slow\n")


def test_explain_says_that_the_lease_of_a_sized_task_differs_from_message_to_message(tenure: Run, folder: Path) -> None:
    (folder / "sized.py").write_text(_SIZED)
    shown = tenure("timing", "explain", "sized:app", "transcode").stdout
    assert "Each message gets a lease for its size; --size 1GB shows the numbers for one." in " ".join(shown.split())
    assert "each message" not in tenure("timing", "explain", "sized:app", "transcode", "--size", "1GB").stdout.lower()
    _took(1.0, size=1_000_000)
    assert "Its work has sizes; --size 1GB" in tenure("timing", "explain", "jobs:app", "resize").stdout
    assert "sizes" not in tenure("timing", "explain", "jobs:app", "nap").stdout


def test_the_lease_of_short_runs_is_the_one_that_a_worker_asks_for(tenure: Run) -> None:
    _took(*[0.01] * 100)
    (found,) = answer(tenure("timing", "explain", "jobs:app", "resize", "--json"))["explained"]
    assert found["forecasts"][0]["lease_seconds"] == LEAST_SECONDS


def test_a_mistyped_task_is_not_said_to_be_unsent(tenure: Run) -> None:
    assert "sent" not in tenure("timing", "explain", "jobs:app", "resiz").stderr


_SIZED = """
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(heartbeat=False, profile="transcoding", size="bytes")
async def transcode(file: str, bytes: int) -> None: ...
"""
