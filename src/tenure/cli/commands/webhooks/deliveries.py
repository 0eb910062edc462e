"""`tenure webhooks deliveries`."""

from typing import TYPE_CHECKING

import click

from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import STATE_STYLES, console, give_way, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.message import MessageState

if TYPE_CHECKING:
    from tenure.client.operations.webhook_deliveries import Delivery

_OPEN = ("leased", "ready", "delayed", "dead")


@click.command(short_help="Show deliveries: waiting, failed or done.")
@target_argument
@click.option("--endpoint", metavar="NAME", help="Of this endpoint only.")
@click.option("--failed", is_flag=True, help="Only those that were given up; `replay` sends them once more.")
@click.option("--done", is_flag=True, help="Those that arrived, the newest first.")
@click.option("--limit", default=50, help="At most so many. Default: 50.")
@json_option
def deliveries(
    target: str | None, endpoint: str | None, limit: int, *, failed: bool, done: bool, as_json: bool
) -> None:
    """Show deliveries of webhooks: what waits and what failed, or with --done what arrived.

    Endings of an endpoint that rests or is disabled are no deliveries yet; how many wait is shown below.
    """
    if failed and done:
        raise click.UsageError("give --failed or --done, not both")
    from rich.text import Text

    from tenure.client.operations.webhook_deliveries import DeliveryQuery

    words = ("dead",) if failed else ("completed",) if done else _OPEN
    query = DeliveryQuery(states=tuple(MessageState(word) for word in words), endpoint=endpoint, limit=limit)
    found = run(find(target), lambda app: app.operate.deliveries(query))
    if as_json:
        say_json(found)
        return
    out = console()
    if found.deliveries:
        table = plain_table("delivery", "endpoint", "tells of", "state", "attempts", "answer", right=("attempts",))
        for one in found.deliveries:
            state = Text(one.state, style=STATE_STYLES[one.state])
            name, of = one_line(one.endpoint or "–"), one_line(one.message_id or "–")
            table.add_row(one.id, name, of, state, str(one.attempts), _answer(one))
        give_way(
            table, out.width, ("answer", 40), ("tells of", 14), ("endpoint", 16), ("answer", 20), ("delivery", 20),
            ("delivery", 13), ("tells of", 9), ("endpoint", 12), ("answer", 14),
        )  # fmt: skip
        out.print(table)
        if found.more:
            out.print("There are more; --limit shows them.")
    else:
        out.print("No deliveries wait or have failed." if words == _OPEN else "There are none.")
    for name, number in found.waiting.items():
        out.print(one_line(f"{plural(number, 'ending')} waiting for {name}"))


def _answer(one: "Delivery") -> str:
    if one.error:
        text = one.error
    elif one.answer_status is not None:
        text = f"HTTP {one.answer_status} after {one.answer_seconds or 0.0:.3f} s"
    else:
        text = "–"
    return one_line(f"{text}; again in {spoken(one.next_in)}" if one.next_in is not None else text)
