"""Ids: the beginning of one is enough where no other begins so, for every command that takes an id."""

from pathlib import Path

import pytest

from tenure import Tenure
from tenure.lease import LeaseRequest
from tenure.settlement import DeadLetter
from tenure.verdict import Reason

from .conftest import JOBS, URL, Run, answer, there

DEAD, OTHER = "aaaaaa1111", "aaaaaa2222"


@pytest.fixture(autouse=True)
def messages(tenure: Run) -> None:
    """Two dead letters whose ids begin alike, and a message that waits."""

    async def dead(app: Tenure) -> None:
        leases = await app.broker.lease(LeaseRequest("me", "1", ("default-tasks",), 2, 30.0))
        await app.broker.dead_letter([DeadLetter(lease, Reason("rejected", "no")) for lease in leases])

    for id in (DEAD, OTHER):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
    there(dead)
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "bbbbbb3333")


def test_the_beginning_of_an_id_names_its_message(tenure: Run) -> None:
    for words in (["show"], ["dead", "show"]):
        assert answer(tenure(*words, URL, "aaaaaa1", "--json"))["id"] == DEAD
    assert answer(tenure("dead", "redrive", URL, "aaaaaa1", "--json"))["redriven"] == [DEAD]
    assert answer(tenure("dead", "delete", "jobs:app", "aaaaaa2", "--json"))["deleted"] == [OTHER]
    assert answer(tenure("cancel", "jobs:app", "bbbbbb", "--json"))["messages"][0]["id"] == "bbbbbb3333"


@pytest.mark.parametrize("words", [["show"], ["cancel"], ["dead", "redrive"], ["dead", "delete"]], ids=" ".join)
def test_a_beginning_that_several_share_lists_them_and_touches_none(tenure: Run, words: list[str]) -> None:
    result = tenure(*words, URL, "aaaaaa")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        f"error[ambiguous_id]: aaaaaa is the beginning of 2 ids: {DEAD} (resize, dead), {OTHER} (resize, dead); type "
        "more of it"
    )
    assert answer(tenure("queues", URL, "--json"))["queues"][0]["dead"] == 2


@pytest.mark.parametrize("words", [["show"], ["cancel"], ["dead", "redrive"], ["dead", "delete"]], ids=" ".join)
def test_a_beginning_that_is_too_short_says_so(tenure: Run, words: list[str]) -> None:
    result = tenure(*words, URL, "bbbbb")
    assert result.exit_code == 2
    assert "error[message_not_found]: no message bbbbb is known here" in result.stderr
    assert "needs at least 6 characters" in result.stderr


def test_a_whole_id_is_meant_though_others_begin_with_it(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "bbbbbb33334444")
    assert answer(tenure("show", URL, "bbbbbb3333", "--json"))["id"] == "bbbbbb3333"


def test_the_same_message_named_twice_is_one(tenure: Run) -> None:
    cancelled = answer(tenure("cancel", URL, "bbbbbb", "bbbbbb3333", "--json"))["messages"]
    assert [one["id"] for one in cancelled] == ["bbbbbb3333"]


def test_an_app_with_a_namespace_finds_its_own_messages_only(tenure: Run, folder: Path) -> None:
    (folder / "shop.py").write_text(JOBS.replace('Tenure("sqlite:///jobs.db")', f'Tenure("{URL}", namespace="shop")'))
    tenure("submit", "shop:app", "resize", '{"image": "a"}', "--id", "aaaaaa4444")
    for word in ("aaaaaa", "shop/aaaaaa"):
        assert answer(tenure("show", "shop:app", word, "--json"))["id"] == "shop/aaaaaa4444"


def test_a_store_that_cannot_look_ids_up_says_that_it_needs_the_whole_one(
    tenure: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: object) -> None: ...

    monkeypatch.setattr("tenure.adapters.sqlite.records.SqliteRecords.find_ids", none)
    result = tenure("cancel", URL, "bbbbbb")
    assert "this store finds messages by their whole id only; nothing was changed" in result.stderr
