"""How `tenure messages` draws: by the width of the terminal a table of one line a message, of two, or blocks.

An id is never cut or wrapped, because people copy it. The rest gives way before it does: figures share a column, names
and reasons end in "…", and in a narrow terminal a message is a block of two lines (`blocks.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.cli.terminal.blocks import block
from tenure.cli.terminal.duration import countdown, exact, spoken
from tenure.cli.terminal.output import STATE_STYLES, give_way, plain_table
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.listed_message import ListedMessage
from tenure.client.operations.message_list import ENDED
from tenure.message import MessageState

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

#: From how many columns on every figure has a column of its own, a message one line, and a table two of them. For ids
#: as Tenure makes them; longer ones need as much more.
_ALL_COLUMNS, _ONE_LINE, _TWO_LINES = 170, 110, 80
_USUAL_ID = 32
#: So much of a queue's or task's name is shown where every column counts.
_SHORT_NAME = 14


def table(seen: Sequence[ListedMessage], wall: float, width: int) -> "Table | Text":
    """The messages, as they fit. A `Text` has lines of its own, and wants `soft_wrap=True`."""
    id_width = max(len(one_line(one.id)) for one in seen)
    left = width - max(0, id_width - _USUAL_ID)
    if left >= _ALL_COLUMNS:
        return _wide(seen, wall, width)
    if left >= _ONE_LINE:
        return _medium(seen, wall, width)
    return _narrow(seen, wall, width, id_width) if left >= _TWO_LINES else _blocks(seen, wall, width)


def _wide(seen: Sequence[ListedMessage], wall: float, width: int) -> "Table":
    last, took = _last_column(seen), _took_column(seen)
    figures = ("failed", "crashed", "lost", *took, last, "age")
    progress = ["progress"] if any(map(_far, seen)) else []
    rows = plain_table("id", "queue", "task", "state", *figures, "owner", *progress, "reason", right=figures)
    for one in seen:
        counters = one.counters
        rows.add_row(
            one.id, one.queue, one.task or "–", _state(one),
            str(counters.attempts), str(counters.crashes), str(counters.lost), *([exact(one.seconds)] if took else []),
            _left(one, wall), spoken(one.age_seconds), one.owner or "–",
            *([_far(one) or "–"] if progress else []), _reason(one),
        )  # fmt: skip
    names = (("queue", 20), ("task", 20), ("owner", 20), ("queue", _SHORT_NAME), ("task", _SHORT_NAME))
    give_way(rows, width, ("reason", 40), *((name, 20) for name in progress), *names, ("reason", 10))
    return rows


def _medium(seen: Sequence[ListedMessage], wall: float, width: int) -> "Table":
    """Draw one line each: the counters in one column, and all else, as far as it fits, in the last one."""
    last, took = _last_column(seen), _took_column(seen)
    names = ("id", "queue", "task", "state", "f/c/l", *took, last, "age")
    rest = "progress, owner, reason" if any(map(_far, seen)) else "owner, reason"
    rows = plain_table(*names, rest, right=(*took, last, "age"))
    for one in seen:
        rows.add_row(
            one.id,
            one.queue,
            one.task or "–",
            _state(one),
            _counts(one),
            *([exact(one.seconds)] if took else []),
            _left(one, wall),
            spoken(one.age_seconds),
            " ".join(filter(None, (_far(one), one.owner, _reason(one)))),
        )
    give_way(rows, width, (rest, 40), ("queue", _SHORT_NAME), ("task", _SHORT_NAME), (rest, 10))
    return _explained(rows)


def _narrow(seen: Sequence[ListedMessage], wall: float, width: int, id_width: int) -> "Table":
    from rich.text import Text

    last, took = _last_column(seen), _took_column(seen)
    shown = "ago / took" if took else last
    rows = plain_table("id / progress, reason", "task / owner", "state / age", "f/c/l", shown, right=(shown,))
    for one in seen:
        below = Text(" ".join(filter(None, (_far(one), _reason(one)))), style="dim")
        times = [_left(one, wall), *([exact(one.seconds)] if took else [])]
        rows.add_row(
            Text.assemble(one_line(one.id), "\n", below) if below.plain else one.id,
            Text.assemble(one_line(one.task or "–"), "\n", (one_line(one.owner), "dim"))
            if one.owner
            else one.task or "–",
            Text.assemble(_state(one), "\n", (spoken(one.age_seconds), "dim")),
            _counts(one),
            Text("\n".join(times)),
        )
    # The id is what people copy: what stands below it, and names, give way before it does.
    first, second = "id / progress, reason", "task / owner"
    give_way(rows, width, (first, max(id_width, 50)), (second, 18), (first, max(id_width, 32)), (second, 8))
    return _explained(rows)


def _blocks(seen: Sequence[ListedMessage], wall: float, width: int) -> "Text":
    from rich.text import Text

    blocks = []
    for one in seen:
        progress = one.progress
        far = "" if progress is None or progress.fraction is None else f"{progress.fraction:.0%}"
        note = "" if progress is None else one_line(progress.note)
        parts = (one.task or "–", _time(one, wall), note, one.owner or "", _reason(one))
        below = Text(" · ".join(one_line(part) for part in parts if part), style="dim")
        blocks.append(block(one.id, [_state(one), Text(far)], below, width))
    return Text("\n").join(blocks)


def _time(one: ListedMessage, wall: float) -> str:
    """The times of one message in a few words."""
    if one.seconds is not None:
        return f"took {exact(one.seconds)}, {_left(one, wall)} ago"
    if one.state in ENDED:
        return f"{_left(one, wall)} ago"
    if one.due_in is not None:
        return f"due in {_left(one, wall)}"
    if one.deadline_in is not None:
        left = _left(one, wall)
        return left.lower() if one.deadline_in < 0 else f"{left} left"
    return f"{spoken(one.age_seconds)} old"


def _counts(one: ListedMessage) -> str:
    counters = one.counters
    return f"{counters.attempts}/{counters.crashes}/{counters.lost}"


def _explained(rows: "Table") -> "Table":
    rows.caption = "f/c/l: attempts failed, workers crashed, leases lost"
    rows.caption_justify = "left"
    return rows


def _state(one: ListedMessage) -> "Text":
    from rich.text import Text

    return Text(one.state, style=STATE_STYLES[one.state])


def _last_column(seen: Sequence[ListedMessage]) -> str:
    return "ended ago" if all(one.state in ENDED for one in seen) else "left"


def _took_column(seen: Sequence[ListedMessage]) -> list[str]:
    """Make the column for run times of completed messages. A dash: the journal does not have it any more."""
    return ["took"] if all(one.state is MessageState.COMPLETED for one in seen) else []


def _left(one: ListedMessage, wall: float) -> str:
    """The time until something happens to it; of what is finished, since it did."""
    if one.state in ENDED:
        return "–" if one.finished_at is None else spoken(wall - one.finished_at)
    if one.due_in is not None:
        return spoken(one.due_in)
    return countdown(one.deadline_in)


def _far(one: ListedMessage) -> str:
    """Show how far its handler says it is; empty: it does not say."""
    if one.progress is None:
        return ""
    fraction = [] if one.progress.fraction is None else [f"{one.progress.fraction:.0%}"]
    return one_line(" ".join([*fraction, one.progress.note]).rstrip())


def _reason(one: ListedMessage) -> str:
    if one.reason is not None:
        return one_line(f"{one.reason.code}: {one.reason.text or ''}".partition("\n")[0])
    return one_line(one.unreadable)
