"""The part on clients: one file a piece. Called by `make bench ARGS=clients`; `ARGS=clients:http` is one piece."""

import importlib
from collections.abc import Sequence

from rich.console import Console

from benchmarks.table import Table

#: Each is a file of this folder with a function `measure`.
PIECES = ("http", "quiet", "many")


def measure(table: Table, console: Console, *, quick: bool = False, pieces: Sequence[str] = ()) -> None:
    """Measure the pieces that were asked for, or all of them."""
    for piece in pieces or PIECES:
        console.print(f"clients: {piece} …")
        importlib.import_module(f"benchmarks.clients_part.{piece}").measure(table, quick=quick)
