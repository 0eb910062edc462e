"""Which dead letters: by id, by queue, by task, by the code of the reason, or all of them."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.failing import NotDead
from tenure.cli.naming import check_known, queues_of
from tenure.cli.seen import Seen, look
from tenure.errors import MessageNotFound
from tenure.message import MessageState

F = TypeVar("F", bound=Callable[..., Any])


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for. Where several things are given, all of them must hold."""

    ids: tuple[str, ...] = ()
    everything: bool = False
    queue: str | None = None
    task: str | None = None
    reason: str | None = None

    def check(self) -> None:
        """Refuse what is empty or contradicts itself: an act must not guess."""
        by_filter = bool(self.queue or self.task or self.reason)
        if not (self.ids or self.everything or by_filter):
            raise click.UsageError("say which: ids, --queue, --task, --reason, or --all")
        if self.ids and (self.everything or by_filter):
            raise click.UsageError("give ids, or --all / --queue / --task / --reason, not both")
        if self.everything and by_filter:
            raise click.UsageError("--all is every dead letter; leave it out to choose by --queue, --task or --reason")

    @property
    def said(self) -> str:
        """What was asked for, as the end of "no dead letters"."""
        given = {"in queue": self.queue, "of task": self.task, "with reason": self.reason}
        return "".join(f" {word} {value}" for word, value in given.items() if value is not None)

    def holds(self, one: Seen) -> bool:
        """Whether this dead letter is meant."""
        code = None if one.browsed.reason is None else one.browsed.reason.code
        return (self.task is None or one.task == self.task) and (self.reason is None or code == self.reason)


def filters(command: F) -> F:
    """The options that choose."""
    command = click.option("--reason", "-r", metavar="CODE", help="Those with this reason, as in max_attempts.")(
        command
    )
    command = click.option("--task", "-t", help="Those of this task.")(command)
    return click.option("--queue", "-q", help="Those of this queue.")(command)


async def chosen(app: Tenure, choice: Choice) -> AsyncIterator[Seen]:
    """The dead letters that are meant, in order of arrival. Not for ids: see `named`."""
    queues = await queues_of(app, choice.queue)
    if choice.queue is not None:
        await check_known(app, queues, consequence="Nothing was changed")
    async for one in look(app.broker, queues, [MessageState.DEAD]):
        if choice.holds(one):
            yield one


async def named(app: Tenure, ids: tuple[str, ...]) -> list[str]:
    """Check that each id is a dead letter before anything is touched; the ids as the broker has them."""
    own = []
    for id in ids:
        record = await app.record(id)
        if record is None:
            raise MessageNotFound(f"no message {id} is known here; nothing was changed")
        if record.state is not MessageState.DEAD:
            raise NotDead(f"message {id} is {record.state}, not dead; nothing was changed")
        own.append(record.id)
    return own
