"""`tenure documents search`: find passages."""

import click

from tenure.documents.chunk import Hit
from tenure.documents.cli.options import index_option, json_option, set_option, with_library
from tenure.documents.cli.terminal import console, say, say_json, styled, wrapped
from tenure.documents.search import Mode


@click.command(short_help="Find the passages that answer a question best.")
@click.argument("question")
@set_option
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="So many at most.")
@click.option(
    "--mode", type=click.Choice([mode.value for mode in Mode]), default=Mode.HYBRID.value, show_default=True,
    help="By words, by meaning, or both.",
)  # fmt: skip
@index_option
@json_option
def search(
    question: str, document_set: str, limit: int, mode: str, index: str | None, as_json: bool  # noqa: FBT001
) -> int:  # fmt: skip
    """Find the passages of a document set that answer QUESTION best."""
    hits = with_library(
        index, lambda library: library.search(question, document_set=document_set, limit=limit, mode=mode)
    )
    if as_json:
        say_json(hits)
    elif hits:
        for number, hit in enumerate(hits, 1):
            _tell(number, hit)
    else:
        say(f"Nothing was found in the set {document_set}.")
    return 0 if hits else 1


def _tell(number: int, hit: Hit) -> None:
    out = console()
    page = f", page {hit.page}" if hit.page is not None else ""
    heading = f" · {hit.heading}" if hit.heading else ""
    out.print(styled((f"{number:>2}  ", "bold"), (hit.name, "bold cyan"), (f"{page}{heading}", "")))
    ranks = [f"{word} {rank}" for word, rank in (("words", hit.text_rank), ("meaning", hit.vector_rank)) if rank]
    out.print(styled((f"    {hit.score:.2f} · {' · '.join(ranks)}", "dim")))
    for line in wrapped(hit.text, indent="    ", lines=3):
        out.print(styled((line, "")))
