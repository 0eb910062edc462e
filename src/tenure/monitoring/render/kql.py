"""Target `kql`: the queries for Application Insights, one file each, in one form of its tables or in both. Pure."""

import textwrap
from collections.abc import Sequence

from tenure.monitoring.render.file import RenderedFile, SavedQuery
from tenure.monitoring.render.kql_queries import QUERIES
from tenure.monitoring.render.kql_tables import Tables, in_form

_WIDTH = 110


def kql_files(tables: Tables | None = None) -> list[RenderedFile]:
    """A file for each query, in a folder for each form. None: both forms."""
    forms: Sequence[Tables] = tuple(Tables) if tables is None else (tables,)
    return [
        RenderedFile(f"{form.value}/{query.id}.kql", f"{comment(query, '//')}\n{in_form(query.text, form)}")
        for form in forms
        for query in QUERIES
    ]


def comment(query: SavedQuery, mark: str) -> str:
    """What a query answers, as a comment."""
    lines = [f"{query.title}.", *textwrap.wrap(query.about, _WIDTH)]
    return "\n".join(f"{mark} {line}" for line in lines)
