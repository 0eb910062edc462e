"""`tenure settings`: what is in force, and where each setting came from."""

import asyncio

import click

from tenure.app import Tenure
from tenure.cli.target import find, is_place, json_option, target_argument
from tenure.cli.terminal.output import console, give_way, plain_table, say_json
from tenure.client.operations.settings import SettingInForce, SettingValue


@click.command(short_help="Show the settings in force, and where each is from.")
@target_argument
@click.option("--all", "shows_all", is_flag=True, help="Also those that are not set.")
@json_option
def settings(target: str | None, *, shows_all: bool, as_json: bool) -> None:
    """Show the settings that were set, and by which environment variable. The store is not asked.

    Secrets are masked. --json shows every setting.

    \b
    tenure settings jobs:app
    tenure settings --all
    """  # noqa: D301 - click's mark for lines that stay as they are
    # Without a target the URL is a setting too, and not an argument.
    app = Tenure() if target is None and is_place(None) else find(target)
    found = asyncio.run(app.operate.settings())
    if as_json:
        say_json(found)
        return
    out = console()
    shown = [one for one in found.settings if shows_all or one.source != "default"]
    if not shown:
        out.print("Every setting has its default. --all shows them.")
        return
    rows = plain_table("setting", "value", "from")
    for one in shown:
        rows.add_row(one.name, _text(one.value), _origin(one))
    give_way(rows, out.width, ("value", 20))
    out.print(rows)


def _text(value: SettingValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or value == ():
        return "none"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _origin(one: SettingInForce) -> str:
    return one.variable or one.source if one.source == "environment" else one.source
