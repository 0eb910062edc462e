"""`tenure messages`: what lies in the queues, message by message."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.completing import complete_queue, complete_task
from tenure.cli.finished import FINISHED, newest
from tenure.cli.message_table import table
from tenure.cli.naming import check_known, full_name, known_queues, paused, queues_of, since
from tenure.cli.output import console, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.run_figures import with_figures
from tenure.cli.seen import Seen, check_shown, hidden_states, instead, look
from tenure.cli.target import find, json_option, run, target_argument
from tenure.message import MessageState
from tenure.notice import Pause

if TYPE_CHECKING:
    from rich.text import Text

#: What is being worked on comes first. What is finished is shown only when it is asked for.
_OPEN = (MessageState.LEASED, MessageState.READY, MessageState.DELAYED, MessageState.DEAD)


class _Answer(msgspec.Struct, frozen=True):
    """What was found."""

    seen: list[Seen]
    pauses: list[Pause]


@click.command(short_help="Show messages, changing nothing.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option(
    "--state", "-s", type=click.Choice([state.value for state in (*_OPEN, *FINISHED)]), help="In this state only."
)
@click.option("--task", "-t", shell_complete=complete_task, help="Of this task only.")
@click.option("--limit", "-n", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@json_option
def messages(
    target: str | None, queue: str | None, state: str | None, task: str | None, limit: int, *, as_json: bool
) -> None:
    """Show messages, changing nothing: what waits, runs or is dead; with --state also what is finished.

    "left" counts a lease down to its end, or a delay to its due time; "Overdue" leases are returned by the next
    sweep. Of what runs, "progress" is what its handler said last. Looking at a message does not count as a delivery.
    Of the finished ones the newest are shown first, and "took" is how long the run took; a dash means that the
    journal does not have it any more.
    """
    app = find(target)
    states = _OPEN if state is None else (MessageState(state),)
    answer = run(app, lambda app: _collect(app, queue, states, task, limit + 1))
    hidden = hidden_states(app.broker, states)
    shown, more = answer.seen[:limit], len(answer.seen) > limit
    wall = app.clock.wall()
    if as_json:
        messages = [one.as_json(wall) for one in shown]
        say_json({"messages": messages, "more": more, "hidden": hidden, "paused": answer.pauses})
        return
    out = console()
    if shown:
        drawn = table(shown, wall, out.width)
        out.print(drawn, soft_wrap=not hasattr(drawn, "columns"))
    elif not hidden:
        out.print(_nothing(queue, state, task), soft_wrap=True)
    if hidden:
        out.print(f"{'' if shown else 'Nothing to show: '}{instead(hidden)}.", markup=False, soft_wrap=True)
    if more:
        out.print(f"The first {plural(limit, 'message')}; --limit shows more.", style="dim")
    for pause in answer.pauses:
        out.print(_paused(pause, wall))


async def _collect(
    app: Tenure, queue: str | None, states: Sequence[MessageState], task: str | None, limit: int
) -> _Answer:
    if states[0] in FINISHED:
        names = sorted(await known_queues(app)) if queue is None else [full_name(app, queue)]
        seen = await newest(app, names, states[0], task, limit)
    else:
        seen = await _open(app, queue, states, task, limit)
    if queue is not None and not seen:
        await check_known(app, [full_name(app, queue)])
    pauses = [pause for pause in await paused(app) if queue is None or pause.queue == full_name(app, queue)]
    return _Answer(await with_figures(app, seen), pauses)


async def _open(
    app: Tenure, queue: str | None, states: Sequence[MessageState], task: str | None, limit: int
) -> list[Seen]:
    seen: list[Seen] = []
    if len(states) == 1:
        check_shown(app.broker, states)
    states = [state for state in states if state in app.broker.traits.browsable]
    # With a task we cannot know how many must be looked at to find so many.
    async for one in look(app.broker, await queues_of(app, queue), states, limit if task is None else None):
        if task is None or one.task == task:
            seen.append(one)
            if len(seen) == limit:
                break
    return seen


def _paused(pause: Pause, wall: float) -> "Text":
    from rich.text import Text

    rest = one_line(f" {since(pause, wall)}: nothing of it is leased.")
    return Text.assemble((one_line(f"{pause.queue} is paused"), "yellow"), rest)


def _nothing(queue: str | None, state: str | None, task: str | None) -> str:
    if queue is None and state is None and task is None:
        return "No messages: nothing waits, runs or is dead here."
    what = f"No {state} message" if state else "No message"
    return f"{what}{f' of task {task!r}' if task else ''}{f' in queue {queue!r}' if queue else ''}."
