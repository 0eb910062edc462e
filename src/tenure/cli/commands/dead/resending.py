"""`tenure dead move` and `tenure dead edit`: dead letters are sent again as new messages, and removed here."""

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.asking import announce, ask, dry_run_option, yes_option
from tenure.cli.completing import complete_queue
from tenure.cli.json_argument import json_bytes
from tenure.cli.target import find, json_option, run, split_ids
from tenure.cli.terminal.output import plural, say_json, say_line
from tenure.client.operations.difference import Change
from tenure.client.operations.operate import Operate
from tenure.client.operations.resend import EditResult, MoveResult
from tenure.client.operator import this_user
from tenure.errors import BadArgument

#: ID and QUEUE.
_LEAST_WORDS = 2
_WARNING = "They are sent there as new messages, and removed here."


@click.command(short_help="Send dead letters to another queue.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID... QUEUE")
@dry_run_option
@yes_option
@json_option
def move(words: tuple[str, ...], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Send dead letters to another queue, as new messages, and remove them here.

    The new messages have the old ones' task, payload, key and headers, and start over. Repeated after a crash it makes
    no second message, and none is lost. Asks before it touches more than one; `tenure dead groups --json` names the
    ids of a group.
    """
    target, rest = split_ids(words)
    if len(rest) < _LEAST_WORDS:
        raise click.UsageError("name the dead letters by their ids, and then the queue that they go to")
    *ids, queue = rest
    app = find(target)
    many = plural(len(ids), "dead letter")
    if len(ids) > 1 and not (yes or dry_run):
        announce(f"Will move {many} to {queue}", as_json=as_json)
        ask(f"Move {len(ids)}?", would=f"{many} would be moved", warning=_WARNING)
    done = run(app, lambda app: _operate(app).move(ids, queue, dry_run=dry_run))
    if as_json:
        say_json(done)
    else:
        _say_moved(done)


@click.command(short_help="Send a dead letter again with another payload.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@click.option("--payload", metavar="JSON", help="The whole new payload; - reads it from standard input.")
@click.option("--queue", "-q", shell_complete=complete_queue, help="To this queue. Default: its own.")
@click.option("--priority", type=int, help="0 to 9. Default: its own.")
@dry_run_option
@json_option
def edit(
    words: tuple[str, ...],
    payload: str | None,
    queue: str | None,
    priority: int | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Send a dead letter again with another payload, queue or priority, as a new message, and remove it here.

    The payload is checked by the task's signature where TARGET is an app. --dry-run only shows what would change.
    Repeated after a crash it makes no second message, and none is lost.

    \b
    tenure dead edit jobs:app 0199f3 --payload '{"image": "b.png"}' --dry-run
    """  # noqa: D301 - click's mark for lines that stay as they are
    target, rest = split_ids(words)
    if len(rest) != 1:
        raise click.UsageError("which dead letter? One at a time: tenure dead edit [TARGET] ID --payload JSON")
    if payload is None and queue is None and priority is None:
        raise click.UsageError("say what is to be different: --payload, --queue or --priority")
    given = None if payload is None else _object(payload)
    app = find(target)
    done = run(app, lambda app: _operate(app).edit(rest[0], given, queue=queue, priority=priority, dry_run=dry_run))
    if as_json:
        say_json(done)
    else:
        _say_edited(done)


def _operate(app: Tenure) -> Operate:
    return app.operate.bound(by=this_user(), triggered_by="cli")


def _object(text: str) -> Mapping[str, Any]:
    found = msgspec.json.decode(json_bytes(text, '\'{"image": "a.png"}\'', consequence="Nothing was changed"))
    if not isinstance(found, dict):
        raise BadArgument("the payload is not a JSON object with the handler's parameters; nothing was changed")
    return found


# -- for people ------------------------------------------------------------------------------------


def _say_moved(done: MoveResult) -> None:
    for one in done.messages:
        if one.problem:
            say_line(f"{one.id}: {one.problem}")
        elif done.dry_run:
            say_line(f"{one.id}: would go to {one.queue}")
        else:
            say_line(f"{one.id}: sent to {one.queue} as {one.new_id}")


def _say_edited(done: EditResult) -> None:
    for change in done.changes:
        say_line(f"  {_told(change)}")
    checked = (
        ""
        if done.checked or not any(one.path.startswith("payload") for one in done.changes)
        else ("; the payload was not checked, since the task's code is not here")
    )
    if done.dry_run:
        say_line(f"{done.id}: would go to {done.queue}{checked}")
    else:
        say_line(f"{done.id}: sent to {done.queue} as {done.new_id}{checked}")


def _told(change: Change) -> str:
    before, after = (msgspec.json.encode(value).decode() for value in (change.before, change.after))
    match change.kind:
        case "added":
            return f"{change.path}: {after} (new)"
        case "removed":
            return f"{change.path}: {before} (removed)"
    return f"{change.path}: {before} → {after}"
