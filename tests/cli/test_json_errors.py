"""Errors under `--json`: one JSON object on standard error, for every command, also where its words do not fit."""

from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.docs.test_reference import _error_codes

from tenure.cli.root import root
from tenure.text.remedy import _REMEDIES

from .conftest import URL, Run, answer, worked


def _commands(group: click.Group, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    ctx = click.Context(group)
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        found += _commands(command, (*words, name)) if isinstance(command, click.Group) else [(*words, name)]
    return found


def _error(result: Result) -> dict[str, Any]:
    assert result.stderr.count("\n") == 1, result.stderr
    document = msgspec.json.decode(result.stderr)
    assert list(document) == ["error"]
    error: dict[str, Any] = document["error"]
    assert list(error) == ["code", "message", "remedy", "exit_code", "traceback"]
    assert error["exit_code"] == result.exit_code != 0
    assert all(error[name] for name in ("code", "message", "remedy"))
    return error


@pytest.mark.parametrize("words", _commands(root), ids=" ".join)
def test_a_usage_error_of_any_command_is_json(tenure: Run, words: tuple[str, ...]) -> None:
    result = tenure(*words, "--json", "--no-such-option")
    error = _error(result)
    assert (error["code"], error["exit_code"], result.stdout) == ("usage", 2, "")
    assert "--no-such-option" in error["message"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["queus", "--json"], "usage"),
        (["queues", "sqlite:///nowhere.db", "--json"], "store_missing"),
        (["queues", "nowhere:app", "--json"], "bad_target"),
        (["messages", "jobs:app", "--queue", "slwo", "--json"], "unknown_queue"),
        (["show", "jobs:app", "nobody-knows-it", "--json"], "message_not_found"),
        (["submit", "jobs:app", "resize", '{"imge": 1}', "--json"], "payload_invalid"),
        (["schedules", "jobs:app", "--forget", "x", "--json"], "unknown_schedule"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_a_command_refuses_is_json(tenure: Run, words: list[str], code: str) -> None:
    tenure("queues", "jobs:app")
    result = tenure(*words)
    assert (_error(result)["code"], result.stdout) == (code, "")


def test_an_act_that_needs_a_yes_says_nothing_but_json(tenure: Run) -> None:
    for number in range(2):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", f"message-{number}")
    for words in (["purge", URL, "default-tasks"], ["cancel", URL, "message-0", "message-1"]):
        result = tenure(*words, "--json")
        assert (_error(result)["code"], result.stdout) == ("not_confirmed", "")


def test_words_after_the_end_of_options_ask_for_nothing(tenure: Run) -> None:
    assert tenure("show", "jobs:app", "--", "--json").stderr.startswith("error[")


def test_a_wait_that_times_out_prints_the_id(tenure: Run) -> None:
    result = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--wait", "0.05", "--json")
    assert (result.exit_code, _error(result)["code"]) == (1, "result_timeout")
    sent = msgspec.json.decode(result.stdout)
    assert (list(sent), sent["duplicate"]) == (["id", "duplicate"], False)
    assert answer(tenure("show", "jobs:app", sent["id"], "--json"))["state"] == "ready"


def test_a_task_that_failed_has_its_traceback_in_the_error(tenure: Run) -> None:
    id = answer(tenure("submit", "jobs:app", "resize", '{"image": "broken"}', "--key", "k", "--json"))["id"]
    worked(id)
    words = ["submit", "jobs:app", "resize", '{"image": "broken"}', "--id", id, "--wait", "--json"]
    result = CliRunner().invoke(root, words, prog_name="tenure")
    error = _error(result)
    assert (error["code"], msgspec.json.decode(result.stdout)) == ("task_failed", {"id": id, "duplicate": True})
    assert "ValueError: no such image" in error["traceback"]


def test_there_is_a_remedy_for_codes_that_exist_and_for_no_others() -> None:
    others = {
        "usage",
        "internal",
        "interrupted",
        "interrupted_act",
        "interrupted_wait",
        "permission_denied",
        "tenure_error",
    }
    assert _REMEDIES.keys() - others <= _error_codes().keys()
