"""The choice of dead letters: by id, queue, task, code of the reason, group, by when they died, or all of them."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, TypeVar

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.completing import complete_queue, complete_task
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.moment import DURATION_OR_MOMENT, moment_of
from tenure.client.operations.browsable import check_shown
from tenure.client.operations.naming import check_known, queues_of
from tenure.client.redrive import OpenedLetter, Which
from tenure.client.redrive import find as find_letters
from tenure.message import MessageState
from tenure.rules.queue_pattern import is_pattern

F = TypeVar("F", bound=Callable[..., Any])

#: A moment, or this many seconds ago.
When = datetime | float


class DeadChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen filters. All of them must match."""

    ids: tuple[str, ...] = ()
    everything: bool = False
    queue: str | None = None
    task: str | None = None
    reason: str | None = None
    #: The fingerprint of a group, as `tenure dead groups` shows it.
    group: str | None = None
    since: When | None = None
    before: When | None = None
    limit: int | None = None

    def check(self) -> None:
        """Refuse what is empty or contradicts itself: an act must not guess."""
        times = (self.since, self.before)
        by_filter = bool(self.queue or self.task or self.reason or self.group) or times != (None, None)
        if not (self.ids or self.everything or by_filter):
            raise click.UsageError("choose by ids, --queue, --task, --reason, --group, --since, --before, or --all")
        if self.ids and (self.everything or by_filter or self.limit is not None):
            msg = "give ids, or --all / --queue / --task / --reason / --group / --since / --before, not both"
            raise click.UsageError(msg)
        if self.everything and by_filter:
            msg = (
                "--all means every dead letter; remove it to choose by --queue, --task, --reason, --group, --since or "
                "--before"
            )
            raise click.UsageError(msg)

    @property
    def said(self) -> str:
        """The chosen filters, as the end of "no dead letters"."""
        given = {
            "in queue": self.queue, "of task": self.task, "with reason": self.reason, "of group": self.group,
        }  # fmt: skip
        words = "".join(f" {word} {value}" for word, value in given.items() if value is not None)
        words += "" if self.since is None else f" that died since {_told(self.since)}"
        return words + ("" if self.before is None else f" that died before {_told(self.before)}")

    def which(self, wall: float) -> Which:
        """Return the choice at this moment."""
        return Which(
            task=self.task,
            reason=self.reason,
            fingerprint=self.group,
            since=moment_of(self.since, wall),
            before=moment_of(self.before, wall),
            limit=self.limit,
        )


def _told(when: When) -> str:
    return when.isoformat() if isinstance(when, datetime) else f"{spoken(when)} ago"


def filters(command: F) -> F:
    """The options that choose."""
    group = click.option("--group", "-g", metavar="GROUP", help="Those of this group, as in tenure dead groups.")
    return group_filters(group(command))


def group_filters(command: F) -> F:
    """The options that choose among groups."""
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


async def chosen(app: Tenure, choice: DeadChoice) -> AsyncIterator[OpenedLetter]:
    """The dead letters that are meant, the first ones first. Not for ids: see `named_dead`."""
    access = app.operate.access
    check_shown(access.broker, [MessageState.DEAD])
    queues = await queues_of(access, choice.queue)
    if choice.queue is not None and not is_pattern(choice.queue):
        await check_known(access, queues, consequence="Nothing was changed")
    async for letter in find_letters(access.broker, queues, choice.which(app.clock.wall())):
        yield letter
