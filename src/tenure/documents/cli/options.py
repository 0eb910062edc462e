"""Options that several commands have, and the library that they lead to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from tenure.documents.library import Library

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def index_option(command: F) -> F:
    """`--index`."""
    return click.option(
        "--index",
        metavar="URL",
        help="The index: sqlite:///documents.db (default) or postgresql://… TENURE_DOCUMENTS_INDEX sets it, too.",
    )(command)


def set_option(command: F) -> F:
    """`--set`."""
    return click.option("--set", "document_set", default="default", show_default=True, help="The document set.")(
        command
    )


def json_option(command: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def with_library(index: str | None, work: Callable[[Library], Awaitable[T]]) -> T:
    """Do `work` with the library at `index`, or where the environment says."""

    async def run() -> T:
        library = Library(index)
        try:
            return await work(library)
        finally:
            await library.close()

    return asyncio.run(run())
