"""Dead letters: looked at, sent back, deleted; every act is asked about, and recorded."""

import asyncio
import signal
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import tenure.cli.acting as acting_module
import tenure.cli.asking as asking_module
import tenure.client.operator as operating_module
from tenure import Tenure, envelope
from tenure.broker import Browsed
from tenure.cli.commands.dead.list import _block
from tenure.cli.root import root
from tenure.client.operations.listed_message import listed
from tenure.errors import BrokerUnavailable
from tenure.event import EventKind
from tenure.lease import LeaseRequest
from tenure.message import Counters, Message, MessageState
from tenure.settlement import DeadLetter
from tenure.verdict import Reason

from .conftest import URL, Run, answer, events


@pytest.fixture
def dead_letters(tenure: Run) -> list[str]:
    """Three: two of `resize` (rejected, max_attempts), one of `nap` on another queue (rejected)."""
    rows = [("a", "resize", "default-tasks"), ("b", "resize", "default-tasks"), ("c", "nap", "slow")]
    for id, task, queue in rows:
        assert tenure("submit", URL, task, '{"n": 1}', "--id", id, "--queue", queue, "--create").exit_code == 0
    asyncio.run(_bury({"a": "rejected", "b": "max_attempts", "c": "rejected"}))
    return [id for id, _, _ in rows]


async def _bury(reasons: dict[str, str], want: int = 10) -> None:
    async with Tenure(URL) as app:
        leases = await app.broker.lease(LeaseRequest("me", "1", ("default-tasks", "slow"), want, 30.0))
        batch = [
            DeadLetter(lease, Reason(reasons[lease.id], "no [such] image", "Traceback: line 7\n")) for lease in leases
        ]
        await app.broker.dead_letter(batch)


def _left(tenure: Run) -> list[str]:
    messages = answer(tenure("dead", "list", URL, "--json"))["messages"]
    return sorted(message["id"] for message in messages)


def test_list_shows_ids_and_reasons(tenure: Run, dead_letters: list[str]) -> None:
    shown = tenure("dead", "list", URL).stdout
    assert "max_attempts: no [such] image" in shown  # as `messages` and `show` write it
    assert "3 dead letters: 2 rejected, 1 max_attempts" in shown
    assert _left(tenure) == dead_letters


def test_list_is_filtered(tenure: Run, dead_letters: list[str]) -> None:
    def ids(*words: str) -> list[str]:
        messages = answer(tenure("dead", "list", URL, "--json", *words))["messages"]
        return [message["id"] for message in messages]

    assert ids("--task", "nap") == ["c"]
    assert ids("--queue", "default-tasks") == ["a", "b"]
    assert ids("--reason", "rejected", "--task", "resize") == ["a"]


def test_a_filter_that_finds_nothing_says_so_and_how_many_there_are(tenure: Run, dead_letters: list[str]) -> None:
    """ "No dead letters" would be a lie."""
    assert tenure("dead", "list", URL, "--reason", "nope").stdout == "No dead letters with reason nope (3 in all).\n"
    shown = tenure("dead", "list", URL, "--task", "nap", "--queue", "default-tasks").stdout
    assert shown == "No dead letters in queue default-tasks of task nap (3 in all).\n"
    for verb in ("list", "redrive", "delete"):
        result = tenure("dead", verb, URL, "--queue", "slwo")
        assert result.exit_code == 2
        assert result.stderr.startswith("error[unknown_queue]: there is no queue 'slwo'")
    tenure("dead", "delete", URL, "--all", "--yes")
    assert tenure("dead", "list", URL, "--reason", "rejected").stdout == "No dead letters with reason rejected.\n"
    assert tenure("dead", "list", URL).stdout == "No dead letters.\n"


def test_show_tells_everything(tenure: Run, dead_letters: list[str]) -> None:
    shown = tenure("dead", "show", URL, "a").stdout
    for part in ("resize", "rejected: no [such] image", "Traceback: line 7", '"n": 1', "failed 0×"):
        assert part in shown
    document = answer(tenure("dead", "show", URL, "a", "--json"))
    assert document["state"] == "dead"
    assert document["body"] == {"n": 1}
    assert '"tenure":1' in str(document["raw"])


def test_show_of_an_unknown_id(tenure: Run, dead_letters: list[str]) -> None:
    result = tenure("dead", "show", URL, "zzz")
    assert result.exit_code == 2
    assert "error[message_not_found]: no message zzz is known here" in result.stderr


def test_one_by_id_is_redriven_without_asking(tenure: Run, dead_letters: list[str]) -> None:
    result = tenure("dead", "redrive", URL, "a")
    assert result.stdout == "Will redrive 1 dead letter\nRedriven: 1\n"
    assert _left(tenure) == ["b", "c"]
    (event,) = events()
    assert event.kind is EventKind.REDRIVEN
    assert (event.data["ids"], event.data["count"], event.data["triggered_by"]) == (["a"], 1, "cli")


def test_many_are_not_touched_where_nobody_can_be_asked(tenure: Run, dead_letters: list[str]) -> None:
    for verb in ("redrive", "delete"):
        result = tenure("dead", verb, URL, "--all")
        assert result.exit_code == 2
        assert "error[not_confirmed]: 3 messages would be" in result.stderr
        assert tenure("dead", verb, URL, "--all", "--json").stdout == ""
    assert _left(tenure) == dead_letters


def test_yes_does_not_ask(tenure: Run, dead_letters: list[str]) -> None:
    result = tenure("dead", "redrive", URL, "--reason", "rejected", "--yes")
    assert "Will redrive 2 dead letters: 1 resize (rejected), 1 nap (rejected)" in result.stdout
    assert _left(tenure) == ["b"]


def test_delete_keeps_a_record(tenure: Run, dead_letters: list[str]) -> None:
    document = answer(tenure("dead", "delete", URL, "--all", "--yes", "--json"))
    assert sorted(document["deleted"]) == dead_letters
    assert document["not_dead_any_more"] == []
    assert _left(tenure) == []
    assert "cancelled" in tenure("dead", "show", URL, "a").stdout
    told = events()
    assert {event.kind for event in told} == {EventKind.DELETED}
    assert sorted(id for event in told for id in event.data["ids"]) == dead_letters
    assert {event.queue for event in told} == {"default-tasks", "slow"}  # one for each queue


def test_a_dry_run_touches_nothing(tenure: Run, dead_letters: list[str]) -> None:
    shown = tenure("dead", "delete", URL, "--all", "--dry-run").stdout
    assert shown.startswith("Would delete 3 dead letters: ")
    assert shown.splitlines()[1:] == ["  a", "  b", "  c"]
    document = answer(tenure("dead", "delete", URL, "--all", "--dry-run", "--json"))
    assert sorted(document["would"]) == dead_letters
    assert _left(tenure) == dead_letters
    assert events() == []


@pytest.mark.parametrize(("reply", "left"), [("y\n", []), ("n\n", ["a", "b", "c"]), ("\n", ["a", "b", "c"])])
def test_people_are_asked(
    tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch, reply: str, left: list[str]
) -> None:
    monkeypatch.setattr(asking_module, "is_watched", lambda: True)
    result = CliRunner().invoke(root, ["dead", "delete", URL, "--all"], input=reply)
    assert "gone for good" in result.stderr
    assert "Delete 3? [y/N]" in result.stderr
    assert result.exit_code == (0 if not left else 2)
    assert _left(tenure) == left


@pytest.mark.parametrize(
    "words",
    [[], ["a", "--all"], ["a", "--queue", "slow"], ["--all", "--task", "nap"]],
    ids=["nothing", "id and all", "id and filter", "all and filter"],
)
def test_an_act_never_guesses_which_are_meant(tenure: Run, dead_letters: list[str], words: list[str]) -> None:
    result = tenure("dead", "delete", URL, *words, "--yes")
    assert result.exit_code == 2
    assert "error[usage]: " in result.stderr
    assert _left(tenure) == dead_letters


def test_one_wrong_id_stops_the_whole_act(tenure: Run, dead_letters: list[str]) -> None:
    tenure("submit", URL, "nap", "{}", "--id", "alive")
    for id, code in (("zzz", "message_not_found"), ("alive", "not_dead")):
        result = tenure("dead", "delete", URL, "a", id, "--yes")
        assert result.exit_code == 2
        assert f"error[{code}]: " in result.stderr
    assert _left(tenure) == dead_letters


def test_nothing_to_do_is_no_error(tenure: Run, folder: Path) -> None:
    assert tenure("queues", "jobs:app").exit_code == 0
    result = tenure("dead", "redrive", URL, "--all")
    assert (result.exit_code, result.stdout) == (0, "Will redrive 0 dead letters\n")


def test_a_redrive_with_a_rate_is_paced(tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def pause(self: object, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(acting_module.Stop, "pause", pause)
    result = tenure("dead", "redrive", URL, "--all", "--yes", "--rate", "30/m")
    assert ", in about 6.0 s\nRedriven: 3\n" in result.stdout
    # Piped: no bar, no colours.
    assert result.stderr == ""
    # One at a time, two seconds apart; here nothing waits, so each pause is what is left to its moment.
    assert [round(seconds) for seconds in pauses] == [0, 2, 4]
    assert [event.data["count"] for event in events()] == [1, 1, 1]


def test_a_fast_rate_goes_in_batches_of_a_quarter_second(
    tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tenure("dead", "redrive", URL, "--all", "--yes", "--rate", "8/s")
    assert [event.data["count"] for event in events()] == [2, 1]


def test_ctrl_c_ends_a_redrive_after_the_batch_under_way(
    tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = operating_module.Operator._record

    async def interrupted(self: Any, *args: Any, **more: Any) -> None:
        signal.raise_signal(signal.SIGINT)  # after the message was moved, before that is recorded
        await record(self, *args, **more)

    monkeypatch.setattr(operating_module.Operator, "_record", interrupted)
    result = tenure("dead", "redrive", URL, "--all", "--yes", "--rate", "4/s")
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted: redriven 1 of 3; these stay redriven."
    assert len(_left(tenure)) == 2
    (event,) = events()
    assert (event.kind, event.data["count"]) == (EventKind.REDRIVEN, 1)


def test_a_list_is_readable_in_eighty_columns(dead_letters: list[str]) -> None:
    message = Message(id="0" * 32, queue="q", task="resize_all_images", body=msgspec.Raw(b"{}"), sent_at=0.0)
    browsed = Browsed(
        id="0" * 32,
        queue="q",
        state=MessageState.DEAD,
        envelope=envelope.encode(message),
        counters=Counters(),
        reason=Reason("max_attempts", f"gave up after 3 of 3 attempts; the last one: {'x' * 80}"),
    )
    first, second = _block(listed(browsed, 60.0), 80).plain.split("\n")
    assert first.startswith(f"{'0' * 32}  resize_all_images ")
    assert first.endswith("60 s old")
    assert second.startswith("  max_attempts: xxx")
    assert (len(first) <= 80, len(second)) == (True, 80)


def _age(seconds: dict[str, float]) -> None:
    """Let these have died so long ago."""
    database = sqlite3.connect("jobs.db")
    with database:
        for id, ago in seconds.items():
            moved = database.execute("UPDATE message SET finished_at = finished_at - ? WHERE id = ?", (ago, id))
            assert moved.rowcount == 1
    database.close()


def test_they_are_chosen_by_when_they_died(tenure: Run, dead_letters: list[str]) -> None:
    _age({"a": 7200.0, "b": 600.0})

    def ids(*words: str) -> list[str]:
        return sorted(answer(tenure("dead", "redrive", URL, "--dry-run", "--json", *words))["would"])

    assert ids("--since", "1h") == ["b", "c"]
    assert ids("--before", "5m") == ["a", "b"]
    assert ids("--since", "1h", "--before", "5m") == ["b"]
    assert ids("--since", "1h", "--reason", "rejected") == ["c"]
    assert ids("--since", "2020-01-31T09:00Z") == ["a", "b", "c"]
    assert ids("--before", "2020-01-31T09:00+01:00") == []
    shown = tenure("dead", "list", URL, "--since", "10s", "--task", "resize").stdout
    assert shown == "No dead letters of task resize that died since 10 s ago (3 in all).\n"
    result = tenure("dead", "redrive", URL, "--since", "2020-01-31T09:00", "--yes")
    assert (result.exit_code, "error[bad_argument]: " in result.stderr) == (2, True)
    assert _left(tenure) == dead_letters


def test_a_limit_takes_the_first_ones(tenure: Run, dead_letters: list[str]) -> None:
    document = answer(tenure("dead", "redrive", URL, "--queue", "default-tasks", "--limit", "1", "--json"))
    assert document["redriven"] == ["a"]
    assert tenure("dead", "delete", URL, "--all", "--limit", "1").exit_code == 0
    assert _left(tenure) == ["c"]


def test_a_limit_alone_does_not_say_which(tenure: Run, dead_letters: list[str]) -> None:
    for words in (["--limit", "1"], ["a", "--limit", "1"]):
        result = tenure("dead", "redrive", URL, *words, "--yes")
        assert (result.exit_code, "error[usage]: " in result.stderr) == (2, True)
    assert _left(tenure) == dead_letters


def test_a_dry_run_of_many_shows_the_first_ids(tenure: Run) -> None:
    ids = [f"m{number:02}" for number in range(12)]
    for id in ids:
        tenure("submit", URL, "resize", "{}", "--id", id, "--create")
    asyncio.run(_bury(dict.fromkeys(ids, "rejected"), want=12))
    shown = tenure("dead", "redrive", URL, "--all", "--dry-run").stdout.splitlines()
    assert shown[0] == "Would redrive 12 dead letters: 12 resize (rejected)"
    assert shown[1:] == [*(f"  {id}" for id in ids[:10]), "  … and 2 more; --json shows all"]


def test_an_outage_before_the_first_batch_is_told_by_the_error_alone(
    tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(self: Any, batch: Any, queue: str | None) -> list[str]:
        raise BrokerUnavailable("the broker is away")

    monkeypatch.setattr(operating_module.Operator, "_redrive", breaks)
    result = tenure("dead", "redrive", URL, "--all", "--yes")
    assert (result.exit_code, len(dead_letters)) == (1, 3)
    assert "Stopped" not in result.stderr
    assert "error[broker_unavailable]: the broker is away" in result.stderr


def test_an_outage_in_between_says_how_far_it_came_and_the_same_command_goes_on(
    tenure: Run, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = operating_module.Operator._redrive
    done: list[Any] = []

    async def breaks(self: Any, batch: Any, queue: str | None) -> list[str]:
        if done:
            raise BrokerUnavailable("the broker is away")
        done.append(batch)
        return await whole(self, batch, queue)

    monkeypatch.setattr(operating_module.Operator, "_redrive", breaks)
    result = tenure("dead", "redrive", URL, "--all", "--yes", "--rate", "4/s")
    assert result.exit_code == 1
    assert "Stopped: redriven 1 of 3; these stay redriven; run the same command again for the rest." in result.stderr
    monkeypatch.setattr(operating_module.Operator, "_redrive", whole)
    assert "Redriven: 2" in tenure("dead", "redrive", URL, "--all", "--yes").stdout
    assert [event.data["count"] for event in events()] == [1, 1, 1]  # the rest is of two queues
