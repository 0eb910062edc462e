"""JSON nested deeper than decoders go: refused at send; from others it becomes a dead letter that can be read."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import URL, Run, answer, worked


@pytest.mark.parametrize("levels", [501, 980, 5000])
def test_a_payload_nested_too_deep_is_refused_and_nothing_is_stored(tenure: Run, levels: int) -> None:
    deep = '{"image": ' + "[" * levels + "]" * levels + "}"
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "flat")
    result = tenure("submit", URL, "resize", "-", "--yes", stdin=deep)
    assert result.exit_code == 2
    assert result.stderr.startswith(("error[body_too_deep]", "error[payload_invalid]"))
    assert [one["id"] for one in answer(tenure("messages", URL, "--json"))["messages"]] == ["flat"]


@pytest.mark.parametrize("levels", [900, 975, 985, 995, 5000])
@pytest.mark.parametrize("kind", ["an envelope", "something else"])
def test_what_others_put_there_becomes_a_dead_letter_that_can_be_read(
    tenure: Run, folder: Path, levels: int, kind: str
) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "deep")
    deep = b"[" * levels + b"]" * levels
    head = b'{"tenure":1,"id":"deep","queue":"default-tasks","task":"resize","body":'
    raw = head + b'{"image":' + deep + b"}}" if kind == "an envelope" else deep
    with closing(sqlite3.connect(folder / "jobs.db")) as db:
        db.execute("UPDATE message SET envelope = ?", (raw,))
        db.commit()
    looks: list[tuple[str, ...]] = [("messages", URL), ("show", URL, "deep"), ("show", URL, "deep", "--full")]
    for words in (*looks, ("show", URL, "deep", "--json")):
        assert tenure(*words).exit_code == 0
    worked("deep")
    (dead,) = answer(tenure("dead", "list", URL, "--json"))["messages"]
    assert dead["id"] == "deep"
    assert dead["reason"]["code"] in ("body_undecodable", "payload_invalid")
    for words in (*looks, ("dead", "list", URL)):
        assert tenure(*words).exit_code == 0
