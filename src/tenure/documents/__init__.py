"""Documents and agents: tasks that do real work, over the public names of Tenure alone.

    from tenure.documents import Library, Tool

Offline by default: documents of a folder, an index in SQLite, embeddings by wordllama, extracts as summaries. A
container of Azure or a bucket of S3, PostgreSQL or Supabase, and any endpoint that speaks OpenAI's API are used where
the environment names them (`settings.py`).

Nothing of Tenure imports this package; the command line finds its commands by their name. The names are imported when
they are first used, as those of `tenure` are.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from tenure.documents.agent.tool import Tool
    from tenure.documents.chunk import Hit, StoredDocument
    from tenure.documents.errors import (
        DocumentMissing,
        DocumentUnreadable,
        EndpointError,
        IndexMismatch,
        IndexUnavailable,
    )
    from tenure.documents.library import Library
    from tenure.documents.llm.chat import Reply, ToolCall, Turn
    from tenure.documents.llm.scripted import ScriptedModel
    from tenure.documents.reading.limits import Limits
    from tenure.documents.search import Mode

__all__ = [
    "DocumentMissing",
    "DocumentUnreadable",
    "EndpointError",
    "Hit",
    "IndexMismatch",
    "IndexUnavailable",
    "Library",
    "Limits",
    "Mode",
    "Reply",
    "ScriptedModel",
    "StoredDocument",
    "Tool",
    "ToolCall",
    "Turn",
]

_HOMES = {
    "DocumentMissing": "errors",
    "DocumentUnreadable": "errors",
    "EndpointError": "errors",
    "Hit": "chunk",
    "IndexMismatch": "errors",
    "IndexUnavailable": "errors",
    "Library": "library",
    "Limits": "reading.limits",
    "Mode": "search",
    "Reply": "llm.chat",
    "ScriptedModel": "llm.scripted",
    "StoredDocument": "chunk",
    "Tool": "agent.tool",
    "ToolCall": "llm.chat",
    "Turn": "llm.chat",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name."""
        import importlib  # noqa: PLC0415 - not before something is asked for

        if name not in _HOMES:
            msg = f"module 'tenure.documents' has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(importlib.import_module(f"tenure.documents.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """List the public names, for a prompt."""
        return sorted({*globals(), *__all__})
