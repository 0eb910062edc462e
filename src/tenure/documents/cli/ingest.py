"""`tenure documents ingest`: index the documents of a folder."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tenure.documents.cli.ingesting import Ingesting, IngestReport, shown
from tenure.documents.cli.options import index_option, json_option, set_option
from tenure.documents.cli.terminal import console, counted, plain, say, say_json, wrapped
from tenure.documents.library import Library
from tenure.documents.stores.sqlite import SqliteIndex


@click.command(short_help="Index the documents of a folder, or one file.")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@set_option
@index_option
@click.option("--queue", metavar="URL", help="Where the messages are. Default: a file beside the index.")
@click.option(
    "-c", "--concurrency", type=click.IntRange(1, 64), default=4, show_default=True, help="Documents at once."
)
@json_option
def ingest(
    folder: Path, document_set: str, index: str | None, queue: str | None, concurrency: int, as_json: bool  # noqa: FBT001
) -> int:  # fmt: skip
    """Index the documents of FOLDER, or one file: PDF, DOCX, HTML, Markdown, text.

    Each document is a message, run by a worker in this process. What is in the
    index already is left alone. Killed half-way, the same command does the rest.
    """

    async def work() -> IngestReport:
        library = Library(index)
        ingesting = Ingesting(library, folder, document_set, queue or _queue_of(library), concurrency)
        if not as_json:
            by = ingesting.report.embedder or "nothing: search goes by words alone"
            say(f"{folder} → {library.index.place}, set {document_set}\nembedded by {by}", err=True)
        try:
            with _bar(quiet=as_json) as (show, begun):
                return await shown(ingesting, show, begun)
        finally:
            await library.close()

    try:
        report = asyncio.run(work())
    except KeyboardInterrupt:
        if not as_json:
            say("Interrupted; run the same command again for the rest.", err=True)
        raise
    if as_json:
        say_json(report)
    else:
        _tell(report)
    return 1 if report.refused else 0


def _queue_of(library: Library) -> str:
    """The file beside an index in a file; else one in this folder."""
    if isinstance(library.index, SqliteIndex):
        return library.index.place.removesuffix(".db") + "-queue.db"
    return "sqlite:///documents-queue.db"


@contextmanager
def _bar(*, quiet: bool) -> Iterator[tuple[Callable[[Ingesting], None], Callable[[int], None]]]:
    """A bar on a terminal; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None, lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - on a terminal

    note = TextColumn("{task.fields[note]}", markup=False, style="dim")
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), note)
    with Progress(*columns, console=console(err=True), transient=True) as progress:
        bar = progress.add_task("", total=None, note="")

        def show(ingesting: Ingesting) -> None:
            now = next(iter(ingesting.notes.values()), "")
            room = max(10, progress.console.width - 40)
            progress.update(bar, completed=ingesting.done, note=plain(now)[:room])

        yield show, lambda total: progress.update(bar, total=total)


def _tell(report: IngestReport) -> None:
    pages = f", {counted(report.pages, 'page')}" if report.pages else ""
    parts = [f"{report.indexed:,} indexed ({counted(report.chunks, 'chunk')}{pages})"]
    if report.unchanged:
        parts.append(f"{report.unchanged:,} unchanged")
    if report.refused:
        parts.append(f"{len(report.refused):,} not indexed")
    say(f"{counted(report.documents, 'document')}: {', '.join(parts)}, in {report.seconds:.1f} s")
    for one in report.refused:
        reason = one.reason if one.reason.startswith(one.name) else f"{one.name}: {one.reason}"
        for line in wrapped(reason, indent="  ", lines=4):
            say(line)
