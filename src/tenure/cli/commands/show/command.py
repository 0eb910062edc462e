"""`tenure show`, and `tenure dead show`, which is the same."""

import click

from tenure.app import Tenure
from tenure.cli.commands.show.group import tell_group
from tenure.cli.commands.show.telling import tell
from tenure.cli.target import find, json_option, run, split_one
from tenure.cli.terminal.output import console, say_json
from tenure.client.operations.children import ChildList
from tenure.client.operations.groups import GroupDetail
from tenure.client.operations.message_detail import MessageDetail
from tenure.errors import GroupNotFound
from tenure.rules.group_id import is_group_id


@click.command(short_help="Show the whole life of one message, or a group.")
@click.argument("words", nargs=-1, metavar="[TARGET] ID")
@click.option("--full", is_flag=True, help="Show payload, result and tracebacks in full.")
@json_option
def show(words: tuple[str, ...], *, full: bool, as_json: bool) -> None:
    """Show the whole life of one message, in whatever state it is.

    What happened to it in the order of time: when it was sent, how each run ended and why, who redrove or cancelled
    it; where it is now; its payload until it is completed or cancelled, after that only if its
    task keeps payloads (keep_payload); and its result. The journal keeps how long
    runs took for a week.

    The id of a group (grp_…) shows how far it is, what follows it, and which members failed.
    """
    target, id = split_one(words, "show", "tenure messages shows the ids")
    app = find(target)

    if is_group_id(id) and (group := run(app, lambda app: _group(app, id))) is not None:
        if as_json:
            say_json(group)
        else:
            tell_group(console(), group, app.clock.wall(), full=full)
        return

    async def look(app: Tenure) -> tuple[MessageDetail, ChildList | None]:
        found = await app.operate.message(id)
        return found, None if as_json else await app.operate.children(found.id)

    found, handed_on = run(app, look)
    if as_json:
        say_json(found)
    else:
        tell(console(), found, app.clock.wall(), full=full, handed_on=handed_on)


async def _group(app: Tenure, id: str) -> GroupDetail | None:
    """The group with this id. None: it is that of a message."""
    try:
        return await app.operate.group(id)
    except GroupNotFound:
        return None
