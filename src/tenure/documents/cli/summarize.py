"""`tenure documents summarize`: a summary of one document of the index."""

import click

from tenure.documents.cli.one_task import run_one
from tenure.documents.cli.options import index_option, json_option, set_option, with_library
from tenure.documents.cli.terminal import say, say_json, wrapped


@click.command(short_help="Summarize a document of the index.")
@click.argument("name")
@set_option
@click.option("-n", "--sentences", type=click.IntRange(1, 50), default=5, show_default=True, help="How long.")
@index_option
@json_option
def summarize(name: str, document_set: str, sentences: int, index: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Summarize the document NAME of the index, and keep the summary there.

    By its own sentences; by a model, where OPENAI_API_KEY is set.
    """
    payload = {"filename": name, "document_set": document_set, "sentences": sentences}
    summary = with_library(index, lambda library: run_one(library, "summarize", payload, lambda _: None))
    if as_json:
        say_json(summary)
        return
    for line in wrapped(summary.summary, indent="", lines=200):
        say(line)
    say(f"({summary.name}, by {summary.by})", err=True)
