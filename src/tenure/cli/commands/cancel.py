"""`tenure cancel`: take messages back, also from workers that run them."""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence

import click

from tenure.app import Tenure
from tenure.cli.acting import Meter, in_batches, operator
from tenure.cli.asking import announce, ask, yes_option
from tenure.cli.failing import NotCancelled
from tenure.cli.target import find, json_option, run, split_ids
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.client.operations.groups import GroupDetail
from tenure.client.operations.ids import find_records
from tenure.client.operator import Cancelled
from tenure.errors import GroupNotFound
from tenure.message import MessageState
from tenure.record import Record
from tenure.rules.group_id import is_group_id

_RUNNING = "its worker ends it within about a second, and its result will be refused"


@click.command(short_help="Cancel messages, also running ones.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID...")
@yes_option
@json_option
def cancel(words: tuple[str, ...], *, yes: bool, as_json: bool) -> None:
    """Take messages back, also from workers that run them; a record of each stays.

    A message that waits will not run. One that runs is taken from its worker: its handler is cancelled, and a late
    result changes nothing. What it did until then is done. Dead letters are deleted with `tenure dead delete`. Asks
    before it touches more than one; an unknown id stops the whole act. The id of a group (grp_…) takes the group
    back: its members that have not ended are cancelled, and nothing follows.
    """
    target, ids = split_ids(words)
    if not ids:
        raise click.UsageError("name the messages by their ids; without TENURE_URL, after TARGET")
    app = find(target)
    if any(map(is_group_id, ids)) and (groups := run(app, lambda app: _groups(app, ids))):
        _cancel_groups(app, ids, groups, yes=yes, as_json=as_json)
        return
    records = run(app, lambda app: find_records(app.operate.access, ids, consequence="nothing was changed"))
    open_ = [record for record in records if not record.is_finished]
    if len(open_) > 1 and not yes:
        states = Counter(_state(record.state) for record in open_)
        kinds = ", ".join(f"{number} {state}" for state, number in states.most_common())
        many = plural(len(open_), "message")
        announce(f"Will cancel {many}: {kinds}", as_json=as_json)
        ask(f"Cancel {len(open_)}?", would=f"{many} would be cancelled")
    answers = run_cancel(app, {record.id: record.queue for record in records}, quiet=as_json)
    if as_json:
        say_json({"messages": [_as_json(record, answers[record.id]) for record in records]})
    else:
        for record in records:
            say_line(f"{record.id}: {_told(record, answers[record.id])}")
    late = [record for record in records if answers[record.id] is None]
    if late:
        stayed = f"{'it' if len(late) == 1 else 'they'} had already ended and stayed unchanged"
        raise NotCancelled(f"{len(records) - len(late)} cancelled, {len(late)} not: {stayed}")


async def _groups(app: Tenure, ids: Sequence[str]) -> dict[str, GroupDetail]:
    """The groups among these ids."""
    found: dict[str, GroupDetail] = {}
    for id in ids:
        if is_group_id(id):
            with contextlib.suppress(GroupNotFound):
                found[id] = await app.operate.group(id)
    return found


def _cancel_groups(
    app: Tenure, ids: Sequence[str], groups: Mapping[str, GroupDetail], *, yes: bool, as_json: bool
) -> None:
    others = [id for id in ids if id not in groups]
    if others:
        raise click.UsageError(
            f"cancel groups and messages apart: {', '.join(others)} is no group; nothing was changed"
        )
    left = sum(one.total - one.ended for one in groups.values() if not one.state.has_ended)
    if left and not yes:
        many = f"{plural(left, 'member')} of {plural(len(groups), 'group')}"
        announce(f"Will cancel {many}, and nothing follows", as_json=as_json)
        ask(f"Cancel {left}?", would=f"{many} would be cancelled")

    async def work(app: Tenure) -> dict[str, bool]:
        return {id: await app.operate.cancel_group(id) for id in groups}

    done = run(app, work)
    if as_json:
        say_json({"groups": [{"id": groups[id].id, "cancelled": was} for id, was in done.items()]})
    else:
        for id, was in done.items():
            say_line(f"{groups[id].id}: {'cancelled' if was else f'not cancelled: it is {groups[id].state} already'}")
    if not all(done.values()):
        late = sum(not was for was in done.values())
        raise NotCancelled(f"{len(done) - late} cancelled, {late} not: they had ended already")


def run_cancel(app: Tenure, queue_of: Mapping[str, str], *, quiet: bool) -> dict[str, MessageState | None]:
    """Cancel in batches; the state in which each was met."""
    answers: dict[str, MessageState | None] = {}

    async def work(app: Tenure) -> None:
        operate = operator(app)

        async def act(batch: Sequence[str], queue: str) -> list[str]:
            met: list[Cancelled] = await operate.cancel(batch, queue)
            answers.update({one.id: one.was for one in met})
            return [one.id for one in met if one.was is not None]

        await in_batches(app, queue_of, act, told=told)

    with Meter("cancelled", len(queue_of), quiet=quiet).running() as told:
        run(app, work)
    return answers


def _state(state: MessageState) -> str:
    return "running" if state is MessageState.LEASED else state.value


def _as_json(record: Record, was: MessageState | None) -> dict[str, object]:
    owner = record.owner if was is MessageState.LEASED else None
    return {"id": record.id, "cancelled": was is not None, "was": was or record.state, "owner": owner}


def _told(record: Record, was: MessageState | None) -> str:
    if was is MessageState.LEASED:
        return f"cancelled; it was running{f' on {record.owner}' if record.owner else ''}: {_RUNNING}"
    if was is not None:
        return f"cancelled; it was {was} and will not run"
    if record.state is MessageState.DEAD:
        return "not cancelled: it is dead; tenure dead delete removes it"
    if record.is_finished:
        return f"not cancelled: it is {record.state} already"
    return "not cancelled: it ended a moment ago"
