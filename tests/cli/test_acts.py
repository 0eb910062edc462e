"""`tenure acts`: who did what."""

from .conftest import URL, Run, answer


def test_acts_are_shown_newest_first_and_filtered(tenure: Run) -> None:
    for id in ("a", "b"):
        tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", id)
    tenure("pause", URL, "default-tasks")
    tenure("cancel", URL, "a")
    tenure("purge", URL, "default-tasks", "--yes")
    tenure("resume", URL, "default-tasks")
    kept = answer(tenure("acts", URL, "--json"))["acts"]
    assert [act["kind"] for act in kept] == ["resumed", "purged", "cancelled", "paused"]
    assert all(act["by"] and act["triggered_by"] == "cli" and act["queue"] == "default-tasks" for act in kept)
    assert [act["count"] for act in kept] == [0, 1, 1, 0]
    assert kept[2]["ids"] == ["a"]

    def kinds(*words: str) -> list[str]:
        return [act["kind"] for act in answer(tenure("acts", URL, "--json", *words))["acts"]]

    assert kinds("--kind", "purged", "--kind", "paused") == ["purged", "paused"]
    assert kinds("--queue", "default-*", "-n", "1") == ["resumed"]
    assert kinds("--queue", "other") == kinds("--by", "nobody like that") == []
    assert kinds("--by", kept[0]["by"][:3].upper()) == ["resumed", "purged", "cancelled", "paused"]


def test_a_table_for_people(tenure: Run) -> None:
    tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--id", "a")
    assert tenure("acts", URL).stdout == "The audit log is empty.\n"
    tenure("cancel", URL, "a")
    lines = tenure("acts", URL).stdout.splitlines()
    assert lines[0].split() == ["when", "who", "what", "queue", "messages", "through", "from"]
    assert lines[2].split()[-5:] == ["cancelled", "default-tasks", "1", "cli", "here"]
    assert tenure("acts", URL, "--kind", "purged").stdout == "No act in the audit log matches.\n"
