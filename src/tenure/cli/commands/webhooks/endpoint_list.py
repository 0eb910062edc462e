"""`tenure webhooks endpoints list`."""

from typing import TYPE_CHECKING

import click

from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import console, give_way, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from tenure.client.operations.webhook_endpoints import EndpointStatus


@click.command("list", short_help="Show the endpoints and how they answer.")
@target_argument
@json_option
def list_(target: str | None, *, as_json: bool) -> None:
    """Show the endpoints and how they answer.

    "rests": it failed several times in a row, so nothing goes out for a while; its endings wait.
    """
    app = find(target)
    found = run(app, lambda app: app.operate.endpoints())
    if as_json:
        say_json(found)
        return
    out = console()
    if not found.endpoints:
        out.print("There are no webhook endpoints; tenure webhooks endpoints add NAME URL makes one.")
        return
    wall = app.state.wall()
    table = plain_table("endpoint", "state", "url", "clients", "secret")
    for one in found.endpoints:
        clients = ", ".join(one.clients) or "all"
        table.add_row(one_line(one.name), _state(one, wall), one_line(one.url), clients, _secret(one, wall))
    give_way(
        table, out.width, ("state", 30), ("url", 30), ("endpoint", 24), ("clients", 12), ("secret", 12), ("state", 16),
        ("url", 16), ("endpoint", 14), ("clients", 7), ("secret", 8),
    )  # fmt: skip
    out.print(table)


def _secret(one: "EndpointStatus", wall: float) -> str:
    if one.rotating_until is None:
        return one.secret
    return f"{one.secret}, the old one for {spoken(one.rotating_until - wall)}"


def _state(one: "EndpointStatus", wall: float) -> "Text":
    from rich.text import Text

    health = one.health
    if one.disabled is not None:
        by = f" by {one.disabled.by}" if one.disabled.by else ""
        return Text(one_line(f"disabled{by}: {one.disabled.reason}"), style="red")
    if health.rests_until is not None:
        text = f"rests {spoken(health.rests_until - wall)} after {plural(health.failures, 'failure')}: {health.error}"
        return Text(one_line(text), style="yellow")
    if health.failing_since is not None:
        text = f"{plural(health.failures, 'failure')} in {spoken(wall - health.failing_since)}: {health.error}"
        return Text(one_line(text), style="yellow")
    return Text("answers")
