r"""Names, keys, headers and errors that would steer a terminal: every command shows them, and sends none of them.

A test for each command, in a wide and in a narrow terminal, over a place where everything that people or other
programs may write is nasty. JSON says exactly the same, with these characters as `\u001b`.
"""

import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import Tenure
from tenure.adapters.sqlite import sending
from tenure.cli.terminal.plain import is_plain, one_line, plain_json, plain_lines
from tenure.cli.terminal.screen import Screen
from tenure.event import Event, EventKind
from tenure.lease import LeaseRequest
from tenure.message import Message, Outgoing
from tenure.notice import Pause, Tick
from tenure.owner import Owner
from tenure.record import Progress
from tenure.sample import Sample
from tenure.settlement import Ack, DeadLetter, Nack
from tenure.verdict import Reason

from .conftest import URL, Run, there

#: Clears the screen, sets the title, forges a line, colours by a C1 control, turns text around; and markup of rich.
NASTY = "a\x1b[2J\x1b]0;owned\x07\b\r\nFORGED\u2028FORGED\x9b31m\u202egnp\u2066z\u2069\x7f[bold]b[/bold][/] :smile:"
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

LOOKS = {
    "queues": ("queues", URL),
    "messages": ("messages", URL),
    "messages completed": ("messages", URL, "--state", "completed"),
    "messages cancelled": ("messages", URL, "--state", "cancelled"),
    "messages of a queue": ("messages", URL, "--queue", NASTY),
    "messages of no queue": ("messages", URL, "--queue", f"{NASTY}?"),
    "messages of no task": ("messages", URL, "--task", f"{NASTY}?"),
    "show ready": ("show", URL, f"ready{NASTY}"),
    "show leased": ("show", URL, f"leased{NASTY}"),
    "show delayed": ("show", URL, f"delayed{NASTY}"),
    "show dead": ("show", URL, f"dead{NASTY}", "--full"),
    "show completed": ("show", URL, f"completed{NASTY}", "--full"),
    "show unknown": ("show", URL, f"unknown{NASTY}"),
    "dead list": ("dead", "list", URL),
    "dead redrive, dry": ("dead", "redrive", URL, "--all", "--dry-run"),
    "dead delete, dry": ("dead", "delete", URL, "--all", "--dry-run"),
    "dead redrive of one": ("dead", "redrive", URL, f"dead{NASTY}"),
    "workers": ("workers", URL),
    "schedules": ("schedules", URL),
    "schedules forget": ("schedules", URL, "--forget", NASTY),
    "timing": ("timing", "list", URL),
    "timing explain": ("timing", "explain", URL, NASTY),
    "scaling": ("scaling", URL),
    "purge, dry": ("purge", URL, NASTY, "--dry-run"),
    "pause": ("pause", URL, f"{NASTY}-two", "--yes"),
    "resume": ("resume", URL, NASTY, "--yes"),
    "cancel": ("cancel", URL, f"ready{NASTY}", f"leased{NASTY}", "--yes"),
    "sweep": ("sweep", URL),
    "submit": ("submit", URL, NASTY, "{}", "--yes"),
    "a bad target": ("queues", f"{NASTY}:app"),
    "a bad option": ("queues", URL, f"--{NASTY}"),
    "a bad command": (NASTY,),
}


async def _furnish(app: Tenure) -> None:
    broker, state, now = app.broker, app.state, time.time()  # noqa: TID251 - as it is

    def message(name: str) -> Message:
        return Message(
            id=f"{name}{NASTY}", queue=NASTY, task=NASTY, body=msgspec.Raw(msgspec.json.encode({NASTY: NASTY})),
            key=f"{name}{NASTY}", unique=f"{name}{NASTY}", client=NASTY, correlation_id=NASTY, parent_id=NASTY,
            headers={NASTY: f"{NASTY}\0"}, sent_at=now,
        )  # fmt: skip

    owner = Owner(NASTY, "1", host=NASTY, pid=1, started_at=now, queues=(NASTY,), concurrency=1, tasks=(NASTY,))
    await state.roster.join(owner)
    reason = Reason(NASTY, f"{NASTY}\n\0{NASTY}", traceback=f"Traceback\n  {NASTY}", error=NASTY)

    async def lease(name: str) -> Any:
        await broker.send([Outgoing(message(name))])
        (one,) = await broker.lease(LeaseRequest(owner.id, name, (NASTY,), 1, 300.0))
        return one

    await broker.dead_letter([DeadLetter(await lease("dead"), reason)])
    await broker.ack([Ack(await lease("completed"), msgspec.json.encode({NASTY: NASTY}))])
    await broker.nack([Nack(await lease("delayed"), 300.0, reason)])
    held = await lease("leased")
    await state.records.progress([(held, Progress(0.5, NASTY))])
    await broker.send([Outgoing(message("cancelled"))])
    await broker.cancel([f"cancelled{NASTY}"])
    await broker.send([Outgoing(message("ready"))])
    await state.board.pause(Pause(NASTY, now, NASTY))
    await state.board.tick(Tick(schedule=NASTY, at=now, message_id=NASTY, spec=NASTY, task=NASTY, queue=NASTY))
    await state.journal.append(
        [
            Event(EventKind.COMPLETED, now, NASTY, task=NASTY, message_id=f"completed{NASTY}", owner=NASTY),
            Event(
                EventKind.RETRIED, now, NASTY, task=NASTY, message_id=f"dead{NASTY}", owner=NASTY, data={"code": NASTY}
            ),
        ]
    )
    await state.journal.sample([Sample(NASTY, NASTY, 1.0, now) for _ in range(30)])


@pytest.fixture(params=["wide", "narrow"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is stored is nasty: as if others had written it, past what `send` refuses."""
    with monkeypatch.context() as past:
        past.setattr(sending, "unsendable", lambda _: None)
        there(_furnish)
    if request.param == "narrow":
        made = Screen.__init__
        monkeypatch.setattr(Screen, "__init__", lambda self, **options: made(self, **(options | {"width": 80})))


def _is_harmless(text: str) -> None:
    found = _ACTS.search(text)
    assert found is None, f"{found[0]!r} reaches the terminal: {text[max(0, found.start() - 60) : found.end() + 20]!r}"
    assert not re.search(r"^\s?FORGED", text, re.MULTILINE), f"a line is forged: {text!r}"


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("what", LOOKS)
def test_nothing_that_acts_reaches_the_terminal(tenure: Run, what: str) -> None:
    result = tenure(*LOOKS[what])
    assert result.exit_code != 70, result.stderr
    _is_harmless(result.stdout)
    _is_harmless(result.stderr)


@pytest.mark.usefixtures("place")
def test_what_was_escaped_can_be_read(tenure: Run) -> None:
    shown = tenure("show", URL, f"ready{NASTY}").stdout
    joined = "".join(line.strip() for line in shown.splitlines())
    for part in (r"\x1b[2J", r"\x07", r"\nFORGED", r"\u202egnp", r"\x9b31m", "[bold]b[/bold][/] :smile:"):
        assert part.replace(" ", "") in joined.replace(" ", ""), part


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("words", [("messages", URL), ("dead", "list", URL), ("queues", URL), ("workers", URL)])
def test_json_says_exactly_what_is_there(tenure: Run, words: tuple[str, ...]) -> None:
    out = tenure(*words, "--json").stdout
    _is_harmless(out)
    assert NASTY in str(_texts(msgspec.json.decode(out)))


def _texts(value: Any) -> "_Joined":
    return _Joined(value)


class _Joined:
    """Every text in a document, one after the other."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __str__(self) -> str:
        return "".join(self._walk(self._value))

    def _walk(self, value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for pair in value.items() for one in pair for text in self._walk(one)]
        if isinstance(value, list):
            return [text for one in value for text in self._walk(one)]
        return [value] if isinstance(value, str) else []


def test_plain_text_is_left_as_it_is() -> None:
    text = "größe 試験 😀\t\u05d0\u0627 \u200f x"
    assert one_line(text) == plain_lines(text) == text
    assert is_plain(text)
    assert plain_json(msgspec.json.encode(text)) == msgspec.json.encode(text)


def test_json_is_the_same_value() -> None:
    raw = msgspec.json.encode({NASTY: [NASTY, 1.5]})
    assert msgspec.json.decode(plain_json(raw)) == {NASTY: [NASTY, 1.5]}


def test_only_one_place_makes_consoles() -> None:
    """What is drawn elsewhere would pass by it."""
    folder = Path(one_line.__code__.co_filename).parent
    made = re.compile(r"(?<!class )\b(Console|Table)\(|from_markup")
    elsewhere = [path.name for path in folder.rglob("*.py") if made.search(path.read_text())]
    assert elsewhere == []
