"""Clients on the command line: listed, shown, paused, purged, limited; mistyped ones are not touched."""

from rich.console import Console

from tenure import Tenure
from tenure.cli.commands.clients import _table
from tenure.client.operations.clients import ClientStatus
from tenure.event import EventKind

from .conftest import URL, Run, answer, events, there


def _sent(tenure: Run, client: str, *ids: str) -> None:
    for id in ids:
        assert tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--client", client, "--id", id).exit_code == 0


def test_clients_are_listed_with_what_they_have(tenure: Run) -> None:
    _sent(tenure, "acme", "a", "b")
    _sent(tenure, "eve", "c")
    rows = answer(tenure("clients", URL, "--json"))["clients"]
    assert [(row["client"], row["queue"], row["waiting"]) for row in rows] == [
        ("acme", "acme-tasks", 2), ("eve", "eve-tasks", 1),
    ]  # fmt: skip
    told = tenure("clients", URL).stdout
    assert "acme" in told
    assert "quota" not in told
    shown = answer(tenure("client", "show", URL, "acme", "--json"))
    assert (shown["waiting"], shown["quota"], shown["tasks"]) == (2, None, [])
    assert "queue    acme-tasks" in tenure("client", "show", URL, "acme").stdout


def test_what_a_client_has_fits_eighty_columns(tenure: Run) -> None:
    _sent(tenure, "acme", "a", "b")
    words = ("--waiting", "2", "--running", "5", "--rate", "100/m", "--payload", "64KiB")
    assert tenure("client", "quota", "jobs:app", "acme", *words).exit_code == 0
    found: list[ClientStatus] = []

    async def look(app: Tenure) -> None:
        found.extend((await app.operate.clients()).clients)

    there(look)
    console = Console(width=80)
    with console.capture() as capture:
        console.print(_table(found, 80))
    line = capture.get().splitlines()[2].rstrip()
    assert "100% used" in line
    assert line.endswith("…")
    assert len(line) <= 80


def test_nobody_is_a_client_yet(tenure: Run) -> None:
    tenure("submit", "jobs:app", "nap", '{"seconds": 1}')
    assert tenure("clients", URL).stdout.startswith("No client is known")
    result = tenure("client", "show", URL, "acme")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[unknown_queue]: no client 'acme' is known" in result.stderr


def test_a_quota_is_kept_told_and_cleared(tenure: Run) -> None:
    _sent(tenure, "acme", "a")
    words = ("--waiting", "1", "--running", "5", "--rate", "100/m", "--payload", "64KiB")
    told = "acme: at most 1 waiting, 5 running, 100/m, 65,536 bytes a payload\n"
    assert tenure("client", "quota", "jobs:app", "acme", *words).stdout == told
    assert [event.kind for event in events()] == [EventKind.QUOTA_SET, EventKind.LIMITED]
    refused = tenure("submit", "jobs:app", "resize", '{"image": "a"}', "--client", "acme", "--id", "b")
    assert (refused.exit_code, refused.stderr.split(":")[0]) == (2, "error[quota_exceeded]")
    _sent(tenure, "acme", "a")
    assert "100% used" in tenure("clients", URL).stdout
    assert "set      " in tenure("client", "show", URL, "acme").stdout
    assert tenure("client", "quota", "jobs:app", "acme", "--waiting", "2").stdout.startswith("acme: at most 2 waiting")
    assert tenure("client", "quota", "jobs:app", "acme", "--clear").stdout == "acme: no longer has a quota\n"
    assert answer(tenure("client", "quota", "jobs:app", "acme", "--clear", "--json"))["changed"] is False
    _sent(tenure, "acme", "b")


def test_a_client_that_is_not_known_has_a_quota_only_with_yes(tenure: Run) -> None:
    _sent(tenure, "acme", "a")
    result = tenure("client", "quota", URL, "acm", "--waiting", "1")
    assert result.exit_code == 2
    assert "there are: acme" in result.stderr
    for words in (("quota", "acm", "--waiting", "1"), ("weight", "acm", "--set", "2"), ("pause", "acm")):
        refused = tenure("client", words[0], URL, *words[1:]).stderr
        assert refused.endswith("; add --yes if it has sent nothing yet\n")
    assert tenure("client", "quota", URL, "acm", "--waiting", "1", "--yes").exit_code == 0
    assert [row["client"] for row in answer(tenure("clients", URL, "--json"))["clients"]] == ["acm", "acme"]


def test_a_client_is_paused_resumed_and_purged(tenure: Run) -> None:
    _sent(tenure, "acme", "a", "b")
    assert tenure("client", "pause", URL, "acme").stdout == "acme: paused; what it sends will wait\n"
    assert tenure("client", "pause", URL, "acme").stdout == "acme: it was paused before\n"
    assert "by " in tenure("clients", URL).stdout
    assert tenure("client", "resume", URL, "acme").stdout == "acme: resumed\n"
    told = "Would remove 2 messages of client acme: 2 ready, 0 delayed\n"
    assert tenure("client", "purge", URL, "acme", "--dry-run").stdout == told
    assert tenure("client", "purge", URL, "acme").exit_code == 2
    assert tenure("client", "purge", URL, "acme", "--yes").stdout.endswith("Purged: 2\n")


def test_what_makes_no_sense_is_refused(tenure: Run) -> None:
    _sent(tenure, "acme", "a")
    for words in (
        ("quota", "acme"),
        ("quota", "acme", "--waiting", "1", "--clear"),
        ("quota", "acme", "--payload", "much"),
        ("quota", "acme", "--running", "0"),
        ("show", "A.B"),
        ("show",),
        ("pause", "acme", "eve"),
    ):
        assert tenure("client", words[0], URL, *words[1:]).exit_code == 2
    assert events() == []


def test_a_client_is_forgotten_and_what_stays_is_told(tenure: Run) -> None:
    _sent(tenure, "acme", "a", "b")
    _sent(tenure, "eve", "c")
    told = tenure("client", "forget", URL, "acme", "--dry-run").stdout
    assert told.startswith("Would forget client acme: 2 ready, 0 delayed, 0 leased, 0 dead, and all that has ended\n")
    assert "Out of reach:\n" in told
    assert tenure("client", "forget", URL, "acme").exit_code == 2
    assert "a" in tenure("messages", URL, "--queue", "acme-tasks").stdout
    done = answer(tenure("client", "forget", URL, "acme", "--yes", "--json"))
    assert (done["removed"]["waiting"], done["after"]) == (2, None)
    assert [row["client"] for row in answer(tenure("clients", URL, "--json"))["clients"]] == ["eve"]
    assert events()[-1].kind is EventKind.CLIENT_FORGOTTEN
    assert "erased: its client was forgotten" in tenure("events", URL, "--all").stdout
    assert tenure("show", URL, "a").exit_code == 2


def test_a_weight_is_set_and_cleared(tenure: Run) -> None:
    told = tenure("client", "weight", "jobs:app", "acme", "--set", "3", "--yes")
    assert told.stdout == "acme: weight 3\n"
    assert tenure("client", "weight", "jobs:app", "acme", "--set", "3", "--yes").stdout == "acme: weight 3, as before\n"
    _sent(tenure, "eve", "a")
    listed = tenure("clients", URL).stdout.splitlines()
    assert [line.endswith("×3") for line in listed if line.startswith(("acme", "eve"))] == [True, False]
    assert [row["weight"] for row in answer(tenure("clients", URL, "--json"))["clients"]] == [3.0, 1.0]
    assert "weight   3" in tenure("client", "show", URL, "acme").stdout
    assert tenure("client", "weight", "jobs:app", "acme", "--clear").stdout == "acme: cleared\n"
    assert "×" not in tenure("clients", URL).stdout
    unknown = tenure("client", "weight", "jobs:app", "amce", "--set", "3")
    assert unknown.exit_code == 2
    for wrong in (["--set", "0"], [], ["--set", "2", "--clear"]):
        assert (
            tenure(
                "client", "weight", "jobs:app", "acme", *wrong, *(["--yes"] if wrong[1:2] == ["0"] else [])
            ).exit_code
            == 2
        )
