"""Which dead letters: by id, by queue, by task, by the code of the reason, by when they died, or all of them."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, TypeVar

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.completing import complete_queue, complete_task
from tenure.cli.duration import spoken
from tenure.cli.moment import DURATION_OR_MOMENT, moment_of
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.naming import check_known, queues_of
from tenure.message import MessageState
from tenure.redriving import Letter, Which
from tenure.redriving import find as find_letters
from tenure.rules.queue_pattern import is_pattern

F = TypeVar("F", bound=Callable[..., Any])

#: A moment, or so many seconds ago.
When = datetime | float


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. Where several things are given, all of them must hold."""

    ids: tuple[str, ...] = ()
    everything: bool = False
    queue: str | None = None
    task: str | None = None
    reason: str | None = None
    since: When | None = None
    before: When | None = None
    limit: int | None = None

    def check(self) -> None:
        """Refuse what is empty or contradicts itself: an act must not guess."""
        times = (self.since, self.before)
        by_filter = bool(self.queue or self.task or self.reason) or times != (None, None)
        if not (self.ids or self.everything or by_filter):
            raise click.UsageError("say which: ids, --queue, --task, --reason, --since, --before, or --all")
        if self.ids and (self.everything or by_filter or self.limit is not None):
            raise click.UsageError("give ids, or --all / --queue / --task / --reason / --since / --before, not both")
        if self.everything and by_filter:
            msg = "--all is every dead letter; leave it out to choose by --queue, --task, --reason, --since or --before"
            raise click.UsageError(msg)

    @property
    def said(self) -> str:
        """What was asked for, as the end of "no dead letters"."""
        given = {"in queue": self.queue, "of task": self.task, "with reason": self.reason}
        words = "".join(f" {word} {value}" for word, value in given.items() if value is not None)
        words += "" if self.since is None else f" that died since {_told(self.since)}"
        return words + ("" if self.before is None else f" that died before {_told(self.before)}")

    def which(self, wall: float) -> Which:
        """The same, at this moment."""
        return Which(
            task=self.task,
            reason=self.reason,
            since=moment_of(self.since, wall),
            before=moment_of(self.before, wall),
            limit=self.limit,
        )


def _told(when: When) -> str:
    return when.isoformat() if isinstance(when, datetime) else f"{spoken(when)} ago"


def filters(command: F) -> F:
    """The options that choose."""
    ago = "as in 2h (ago) or 2030-01-31T09:00Z."
    options = (
        click.option("--queue", "-q", shell_complete=complete_queue, help="Those of this queue."),
        click.option("--task", "-t", shell_complete=complete_task, help="Those of this task."),
        click.option("--reason", "-r", metavar="CODE", help="Those with this reason, as in max_attempts."),
        click.option("--since", type=DURATION_OR_MOMENT, help=f"Those that died since then, {ago}"),
        click.option("--before", type=DURATION_OR_MOMENT, help=f"Those that died before then, {ago}"),
    )
    for option in reversed(options):
        command = option(command)
    return command


async def chosen(app: Tenure, choice: Choice) -> AsyncIterator[Letter]:
    """The dead letters that are meant, the first ones first. Not for ids: see `named_dead`."""
    access = app.operate.access
    check_shown(access.broker, [MessageState.DEAD])
    queues = await queues_of(access, choice.queue)
    if choice.queue is not None and not is_pattern(choice.queue):
        await check_known(access, queues, consequence="Nothing was changed")
    async for letter in find_letters(access.broker, queues, choice.which(app.clock.wall())):
        yield letter
