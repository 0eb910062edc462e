"""`tenure migrate celery`: write the tasks of a Celery project for Tenure, with what differs and the risks found.

The module goes to standard output, or into a new file; what people should read goes to standard error.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.cli.failing import DONE
from tenure.cli.target import json_option
from tenure.cli.terminal.output import console, plain_table, plural, say_json, say_line, say_lines
from tenure.cli.terminal.plain import one_line
from tenure.errors import ConfigurationError
from tenure.porting import Kind, Ported, port_celery
from tenure.porting.ported import NotPortable

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {"check": "yellow", "by hand": "red", "critical": "red", "warning": "yellow", "info": "cyan"}


class CannotMigrate(ConfigurationError):
    """The source has nothing that can be carried over, or cannot be read; nothing was written."""

    code = "cannot_migrate"


@click.command(short_help="Write the tasks of a Celery project for Tenure.")
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(exists=True))
@click.option("--dry-run", is_flag=True, help="Print the module, and write no file.")
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the module into this new file.")
@json_option
def celery(*, paths: tuple[str, ...], dry_run: bool, output: str | None, as_json: bool) -> int:
    """Write the tasks of a Celery project for Tenure: tasks with their options, schedules, chains, sends.

    PATH is a file or a folder. The source is read as a syntax tree: nothing is run or imported, and no file of the
    project is changed. Say --dry-run to print the module, or --output to write it into a new file.

    What behaves differently, what is left to do by hand, and what `tenure audit` finds in the same files is listed on
    standard error. In the module the same notes stand at their places.
    """
    if not paths:
        raise click.UsageError("which code? Name files or folders: tenure migrate celery shop --dry-run")
    if dry_run == (output is not None):
        both = "--dry-run writes no file, and --output one; say one of them"
        neither = "nothing was written: say --dry-run to print the module, or --output FILE to write it"
        raise click.UsageError(both if dry_run else neither)
    try:
        ported = port_celery(paths)
    except NotPortable as error:
        raise CannotMigrate(f"{error}. Nothing was written") from error
    if output is not None:
        _write(output, ported)
    if as_json:
        say_json(_document(ported))
        return DONE
    if output is None:
        say_lines(ported.module.rstrip("\n"))
    _tell(ported, output)
    return DONE


def _write(output: str, ported: Ported) -> None:
    try:
        # It may not be there: a file of the project would be gone.
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError as error:
        raise CannotMigrate(f"{output} is there already, and stays as it is; name a new file") from error
    except OSError as error:
        raise CannotMigrate(f"{output} cannot be written: {error.strerror}") from error
    with os.fdopen(file, "w", encoding="utf-8") as text:
        text.write(ported.module)


def _document(ported: Ported) -> dict[str, Any]:
    found = [
        msgspec.structs.asdict(one.finding)
        | {name: value for name, value in msgspec.structs.asdict(one).items() if name != "finding"}
        for one in ported.findings
    ]
    return {
        "module": ported.module,
        "tasks": ported.tasks,
        "schedules": ported.schedules,
        "notes": [msgspec.structs.asdict(one) for one in ported.notes],
        "sends": [msgspec.structs.asdict(one) for one in ported.sends],
        "findings": found,
        "files": ported.files,
    }


def _tell(ported: Ported, output: str | None) -> None:
    out = console(err=True)
    rows = list(_rows(ported))
    if rows and sys.stderr.isatty():
        out.print(_table(rows))
    elif rows:  # nothing is wrapped in a file
        widest = max(len(place) for _, place, _ in rows)
        for kind, place, text in rows:
            say_line(f"{kind:<8}  {place:<{widest}}  {text}", err=True)
    by_hand = sum(note.kind is Kind.BY_HAND for note in ported.notes)
    parts = [plural(len(ported.tasks), "task"), plural(len(ported.schedules), "schedule")]
    parts += [f"{plural(len(ported.sends), 'call')} to change elsewhere"] if ported.sends else []
    parts += [f"{plural(by_hand, 'part')} to write by hand"] if by_hand else []
    where = "Written to " + one_line(Path(output).as_posix()) if output else "Nothing was written"
    say_line(f"{plural(ported.files, 'file')}: {', '.join(parts)}.", err=True)
    say_line(f"{where}.", err=True)


def _rows(ported: Ported) -> Iterator[tuple[str, str, str]]:
    for one in ported.findings:
        yield one.finding.severity, f"{one.path}:{one.line}", f"today, {one.finding.id}: {one.finding.evidence}"
    for note in sorted(ported.notes, key=lambda note: (note.kind is Kind.CHECK, note.path, note.line)):
        yield note.kind, note.place, f"{note.about}: {note.text}"


def _table(rows: list[tuple[str, str, str]]) -> "Table":
    from rich.text import Text

    table = plain_table("", "where", "what")
    table.columns[-1].no_wrap = False
    table.columns[-1].overflow = "fold"
    for kind, place, text in rows:
        table.add_row(Text(kind, style=_STYLES[kind]), Text(one_line(place)), Text(one_line(text)))
    return table
