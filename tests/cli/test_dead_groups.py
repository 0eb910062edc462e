"""Dead letters by what they died of; moved and edited: the same structs as `app.operate`, the same acts."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import URL, Run, answer, there, worked

LARGE = 2**63 + 1


@pytest.fixture
def dead_letters(tenure: Run) -> list[str]:
    """Two of `resize` that died of the same thing, and one of `nap`."""
    for id in ("a", "b"):
        tenure("submit", "jobs:app", "resize", '{"image": "broken"}', "--id", id)
    tenure("submit", URL, "nap", '{"seconds": "long"}', "--queue", "slow", "--id", "c")
    worked("a", "b", "c")
    return ["a", "b", "c"]


def _states(tenure: Run, *ids: str) -> list[str]:
    return [str(answer(tenure("show", URL, id, "--json"))["state"]) for id in ids]


def _groups(tenure: Run) -> list[dict[str, Any]]:
    return list(answer(tenure("dead", "groups", URL, "--json"))["groups"])


def test_groups_are_listed_with_the_largest_first(tenure: Run, dead_letters: list[str]) -> None:
    document = answer(tenure("dead", "groups", "jobs:app", "--json"))
    assert [(one["task"], one["count"], sorted(one["ids"])) for one in document["groups"]] == [
        ("resize", 2, ["a", "b"]),
        ("nap", 1, ["c"]),
    ]
    assert (document["looked_at"], document["more"]) == (3, False)
    shown = tenure("dead", "groups", URL).stdout
    largest = document["groups"][0]
    assert f"{largest['fingerprint']}  2  resize  first " in shown
    assert "rejected ValueError at jobs.py:" in shown
    assert "no such image" in shown
    assert shown.endswith("2 groups of 3 dead letters\n")
    assert "1 group of 1 dead letter; there are more, see --most" in tenure("dead", "groups", URL, "--most", "1").stdout
    assert tenure("dead", "groups", URL, "--task", "other").stdout == "No dead letters of task other.\n"


def test_all_of_one_group_is_redriven_or_deleted_and_nothing_else(tenure: Run, dead_letters: list[str]) -> None:
    group = str(_groups(tenure)[0]["fingerprint"])
    listed = answer(tenure("dead", "list", URL, "--group", group, "--json"))["messages"]
    assert sorted(one["id"] for one in listed) == ["a", "b"]
    refused = tenure("dead", "redrive", URL, "--group", group)
    assert "error[not_confirmed]" in refused.stderr
    done = answer(tenure("dead", "redrive", URL, "--group", group, "--yes", "--json"))
    assert sorted(done["redriven"]) == ["a", "b"]
    assert _states(tenure, *dead_letters) == ["ready", "ready", "dead"]
    (other,) = _groups(tenure)
    assert answer(tenure("dead", "delete", URL, "-g", other["fingerprint"], "--json"))["deleted"] == ["c"]
    assert "No dead letters of group nothing" in tenure("dead", "list", URL, "--group", "nothing").stdout


def test_a_dead_letter_is_moved_and_more_than_one_is_asked_about(tenure: Run, dead_letters: list[str]) -> None:
    refused = tenure("dead", "move", URL, "a", "b", "slow")
    assert "2 dead letters would be moved, and there is no terminal to ask on" in refused.stderr
    dry = tenure("dead", "move", URL, "a", "b", "slow", "--dry-run")
    assert dry.stdout == "a: would go to slow\nb: would go to slow\n"
    assert _states(tenure, *dead_letters) == ["dead"] * 3
    moved = answer(tenure("dead", "move", URL, "a", "b", "slow", "--yes", "--json"))
    assert (moved["found"], moved["done"], moved["skipped"]) == (2, 2, 0)
    new = [one["new_id"] for one in moved["messages"]]
    assert _states(tenure, *new) == ["ready", "ready"]
    assert "it is in this queue already; redrive it" in tenure("dead", "move", URL, "c", "slow").stdout
    (act, *_) = answer(tenure("acts", URL, "--json"))["acts"]
    assert (act["kind"], act["triggered_by"]) == ("moved", "cli")


def test_a_dead_letter_is_edited_and_the_payload_checked(tenure: Run, dead_letters: list[str]) -> None:
    wrong = tenure("dead", "edit", "jobs:app", "a", "--payload", '{"imagine": "a.png"}')
    assert "error[payload_invalid]" in wrong.stderr
    dry = tenure("dead", "edit", "jobs:app", "a", "--payload", '{"image": "a.png", "width": 5}', "--dry-run").stdout
    assert 'payload.image: "broken" → "a.png"' in dry
    assert "payload.width: 5 (new)" in dry
    assert dry.endswith("a: would go to default-tasks\n")
    done = answer(tenure("dead", "edit", "jobs:app", "a", "--payload", '{"image": "a.png"}', "--json"))
    assert (done["checked"], done["dry_run"], done["queue"]) == (True, False, "default-tasks")
    worked(done["new_id"])
    assert _states(tenure, done["new_id"]) == ["completed"]
    (act, *_) = answer(tenure("acts", URL, "--json"))["acts"]
    assert act["kind"] == "edited"


def test_a_payload_comes_from_standard_input_and_keeps_large_numbers(tenure: Run, dead_letters: list[str]) -> None:
    text = f'{{"image": "a.png", "width": {LARGE}}}'
    done = tenure("dead", "edit", URL, "a", "--payload", "-", "--queue", "slow", "--priority", "9", stdin=text)
    assert f"payload.width: {LARGE} (new)" in done.stdout
    assert 'queue: "default-tasks" → "slow"' in done.stdout
    assert "the payload was not checked, since the task's code is not here" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("move", URL, "slow"), "name the dead letters by their ids, and then the queue"),
        (("edit", URL, "a"), "say what is to be different"),
        (("edit", URL, "a", "b", "--priority", "3"), "One at a time"),
        (("edit", URL, "a", "--payload", "{"), "the payload is not JSON"),
        (("edit", URL, "a", "--payload", "[1]"), "is not a JSON object"),
        (("edit", URL, "a", "--priority", "11"), "is not a whole number from 0 to 9"),
        (("move", URL, "nobody", "slow"), "nobody"),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    tenure: Run, dead_letters: list[str], words: tuple[str, ...], said: str, folder: Path
) -> None:
    assert folder.is_dir()
    result = tenure("dead", *words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert _states(tenure, *dead_letters) == ["dead"] * 3


def test_a_group_is_no_filter_of_groups(tenure: Run) -> None:
    there(lambda app: app.operate.queues())
    assert tenure("dead", "groups", URL, "--group", "x").exit_code == 2
