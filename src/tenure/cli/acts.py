"""`tenure acts`: the audit log. Who did what to messages, queues and schedules, when, and through which door."""

from collections import deque
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.act import Act, StoredAct
from tenure.app import Tenure
from tenure.cli.completing import complete_queue
from tenure.cli.moment import local
from tenure.cli.naming import wanted_queues
from tenure.cli.output import console, count, give_way, plain_table, say_json
from tenure.cli.target import find, json_option, run, target_argument
from tenure.rules.queue_pattern import matches

if TYPE_CHECKING:
    from rich.table import Table

_PAGE = 200
#: A terminal below this shows no door and no address.
_WIDE = 100


class _Choice(msgspec.Struct, frozen=True):
    """What was asked for."""

    by: str | None
    kinds: frozenset[str]
    queues: tuple[str, ...] | None

    def means(self, act: Act) -> bool:
        """Whether all of it holds."""
        return (
            (self.by is None or self.by.casefold() in act.by.casefold())
            and (not self.kinds or act.kind in self.kinds)
            and (self.queues is None or (act.queue is not None and matches(act.queue, self.queues)))
        )


@click.command(short_help="Show who did what: the audit log.")
@target_argument
@click.option("--by", help="By them only: a part of a name will do.")
@click.option("--kind", "-k", "kinds", multiple=True, metavar="KIND", help="Acts of this kind, such as purged.")
@click.option("--queue", "-q", "queues", multiple=True, shell_complete=complete_queue,
              help="On this queue only: a name, or a pattern such as '*-tasks'; repeat it for more.")  # fmt: skip
@click.option("--number", "-n", type=click.IntRange(1), default=50, show_default=True, help="The last so many.")
@json_option
def acts(
    target: str | None, by: str | None, kinds: tuple[str, ...], queues: tuple[str, ...], number: int, *, as_json: bool
) -> None:
    """Show who did what to messages, queues and schedules: the audit log, newest first.

    Every act from outside is kept for 400 days: cancel, delete, redrive, purge, pause, resume, and what is done to
    schedules. What workers do by themselves is in the journal: tenure events.
    """
    app = find(target)
    choice = _Choice(by, frozenset(kinds), wanted_queues(app, queues) if queues else None)
    found = run(app, lambda app: _read(app, choice, number))
    if as_json:
        say_json({"acts": [{"seq": one.seq, **msgspec.structs.asdict(one.act)} for one in found]})
        return
    out = console()
    if found:
        out.print(_table(found, out.width))
    else:
        asked = by is not None or kinds or queues
        out.print("No such act is kept." if asked else "Nobody did anything here that is kept.")


async def _read(app: Tenure, choice: _Choice, number: int) -> list[StoredAct]:
    """The newest that are meant. The log is read to its end if need be: people do little."""
    found: deque[StoredAct] = deque()
    before = 0
    while page := await app.state.acts.read(before, _PAGE):
        for one in page:
            if choice.means(one.act) and (one.act.queue is None or app.sees(one.act.queue)):
                found.append(one)
                if len(found) == number:
                    return list(found)
        before = page[-1].seq
        if len(page) < _PAGE:
            break
    return list(found)


def _table(found: list[StoredAct], width: int) -> "Table":
    wide = width >= _WIDE
    extra = ("through", "from") if wide else ()
    rows = plain_table("when", "who", "what", "queue", "messages", *extra, right=("messages",))
    for stored in found:
        act = stored.act
        about = str(act.data.get("schedule") or "")
        more = (act.triggered_by or "–", act.source or "here") if wide else ()
        rows.add_row(
            local(act.at)[:19], act.by or "–", f"{act.kind} {about}".rstrip(), act.queue or "–",
            count(act.count) if act.count or act.ids else "–", *more,
        )  # fmt: skip
    give_way(rows, width, ("who", 16), ("queue", 12), ("what", 10), ("who", 8))
    return rows
