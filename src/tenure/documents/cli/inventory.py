"""`tenure documents list` and `remove`: what is in the index."""

import click

from tenure.documents.cli.options import index_option, json_option, set_option, with_library
from tenure.documents.cli.terminal import counted, say, say_json


@click.command("list", short_help="List the documents in the index.")
@click.option("--set", "document_set", help="Of this document set alone.")
@index_option
@json_option
def documents_list(document_set: str | None, index: str | None, as_json: bool) -> int:  # noqa: FBT001
    """List the documents in the index, by set and name."""
    found = with_library(index, lambda library: library.documents(document_set))
    if as_json:
        say_json(found)
        return 0
    for one in found:
        pages = f", {counted(one.pages, 'page')}" if one.pages is not None else ""
        say(f"{one.document_set}  {one.name}  {counted(one.chunks, 'chunk')}{pages}")
    if not found:
        say("No document is in the index.")
    return 0


@click.command(short_help="Remove a document from the index; its file stays.")
@click.argument("name")
@set_option
@index_option
@json_option
def remove(name: str, document_set: str, index: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Remove the document NAME from the index; its file stays."""
    removed = with_library(index, lambda library: library.remove(name, document_set=document_set))
    if as_json:
        say_json({"removed": removed})
    else:
        say(f"{name} was removed." if removed else f"{name} is not in the index, set {document_set}.")
    return 0 if removed else 1
