"""The index that a URL names."""

from urllib.parse import unquote, urlsplit

from tenure.documents.stores.index import Index
from tenure.documents.stores.sqlite import SqliteIndex
from tenure.errors import BadURL


def index_of(url: str, key: str = "") -> Index:
    """The index at `url`; `key` is that of an endpoint."""
    parts = urlsplit(url)
    match parts.scheme:
        case "sqlite" if not parts.netloc and len(parts.path) > 1:
            # As everywhere: three slashes and a relative path, four and an absolute one.
            return SqliteIndex(unquote(parts.path[1:]))
        case "postgresql" | "postgres":
            from tenure.documents.stores.postgres import PostgresIndex

            return PostgresIndex(url)
        case "https" | "http" if parts.netloc:
            from tenure.documents.stores.supabase import SupabaseIndex

            return SupabaseIndex(url, key)
    shown = f"{parts.scheme}://…" if parts.scheme else repr(url)
    raise BadURL(
        f"{shown} names no index; write sqlite:///documents.db, postgresql://host/database, or set SUPABASE_URL and"
        " SUPABASE_KEY. Nothing was opened"
    )
