"""Events as text: a line each for people, a JSON document a line for programs."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.cli.commands.events.reading import Away, Back, Batch, Gap, Heard
from tenure.cli.commands.events.sentences import STYLES, sentence
from tenure.cli.terminal.output import say_json, say_line
from tenure.cli.terminal.plain import one_line
from tenure.event import StoredEvent
from tenure.text.plural import plural

if TYPE_CHECKING:
    from rich.console import Console

#: The longest kind of event.
_KIND_WIDTH = 18
#: How many were left out is said so often, at most.
_LEFT_OUT_SECONDS = 10.0


class Teller:
    """Prints events as they come."""

    def __init__(self, out: "Console", *, as_json: bool) -> None:
        """Lines on `out`, or NDJSON."""
        self._out = out
        self._as_json = as_json
        self._day = ""
        self._left_out = 0
        self._told_at: float | None = None

    def tell(self, heard: Heard, now: float) -> None:
        """Print what was heard at wall time `now`: events, a gap or an outage."""
        match heard:
            case Batch():
                for stored in heard.events:
                    self.event(stored)
                self._left_out += heard.left_out
                self._tell_left_out(now)
            case Gap():
                self._note("gap", {"after": heard.after, "first": heard.first}, _gap(heard), "yellow")
            case Away():
                self._note("away", {"error": heard.why}, f"no answer from the store; waiting ({heard.why})", "red")
            case Back():
                self._note("back", {}, "the store answers again", "")

    def event(self, stored: StoredEvent) -> None:
        """Print one event."""
        if self._as_json:
            say_json({"seq": stored.seq, **document(stored)})
            return
        moment = datetime.fromtimestamp(stored.event.at).astimezone()
        day = f"{moment:%Y-%m-%d}"
        if day != self._day:
            self._line(f"{day} {moment:%z}", "", "", "bold dim")
            self._day = day
        self._line(f"{moment:%H:%M:%S}", stored.event.kind, sentence(stored.event), STYLES.get(stored.event.kind, ""))

    def left_out(self, number: int) -> None:
        """Completed messages, which were not asked for."""
        if number:
            self._left_out = 0
            text = f"{plural(number, 'completed message')} left out; --all or --kind completed shows them"
            self._note("left_out", {"count": number, "kind": "completed"}, text, "dim")

    def _tell_left_out(self, now: float) -> None:
        if self._told_at is None:
            self._told_at = now
        elif self._left_out and now - self._told_at >= _LEFT_OUT_SECONDS:
            self._told_at = now
            self.left_out(self._left_out)

    def _note(self, kind: str, data: dict[str, Any], text: str, style: str) -> None:
        """A line that is not an event, but about events."""
        if self._as_json:
            say_json({"seq": None, "kind": kind, "data": data})
        else:
            self._line(" " * 8, "", text, style)

    def _line(self, moment: str, kind: str, text: str, style: str) -> None:
        from rich.text import Text

        if not kind:
            self._out.print(Text(one_line(f"{moment}  {text}".rstrip()), style=style), soft_wrap=True)
            return
        shown = one_line(kind).ljust(_KIND_WIDTH)
        self._out.print(Text.assemble((moment, "dim"), "  ", (shown, style), "  ", one_line(text)), soft_wrap=True)


def document(stored: StoredEvent) -> dict[str, Any]:
    """Every field of an event, also those that are not set."""
    return msgspec.structs.asdict(stored.event)


def _gap(gap: Gap) -> str:
    return (
        f"a gap: the journal no longer had what came after place {gap.after}; it goes on at {gap.first}. "
        "TENURE_JOURNAL_KEEP says how long events are kept"
    )


def say_cut(number: int) -> None:
    """Say that not everything was looked through."""
    say_line(f"Searched only the newest {number:,} events only; --since and --message look closer.", err=True)
