"""`tenure documents schema`: the SQL of the index, to run in Supabase."""

import asyncio

import click

from tenure.documents.cli.options import json_option
from tenure.documents.cli.terminal import say, say_json
from tenure.documents.library import Library
from tenure.documents.stores.schema import schema as sql_of


@click.command(short_help="Print the SQL of the index, for Supabase.")
@json_option
def schema(as_json: bool) -> None:  # noqa: FBT001
    """Print the SQL of the index, for the embedder that is set.

    Run it once in Supabase's SQL editor. In PostgreSQL it is run by itself.
    """
    sql = asyncio.run(sql_of(Library("sqlite:///unused.db").embedder))
    if as_json:
        say_json({"sql": sql})
    else:
        say(sql.rstrip())
