"""A blob store in a folder: one file a body. For one machine, or a network share that all workers see.

    file:///srv/tenure/bodies            an absolute path
    file:///srv/tenure/bodies?create=no  it must be there

Start reading at `blobs.py`.
"""

from urllib.parse import SplitResult, parse_qsl, unquote

from tenure.adapters.folder.blobs import FolderBlobStore
from tenure.clock import Clock
from tenure.errors import BadURL
from tenure.url_options import above_zero, read_query, yes_or_no

__all__ = ["FolderBlobStore", "connect"]

#: What a URL may say after its `?`, and what is taken.
_TAKEN = {"create": "yes or no", "keep_seconds": "a number of seconds above 0"}
KEEP_SECONDS = 30 * 86_400.0


def connect(url: str, parts: SplitResult, *, clock: Clock) -> FolderBlobStore:
    """The folder that `url` names. Raises `BadURL`."""
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or len(path.strip("/")) == 0 or not path.startswith("/"):
        msg = f"{url!r} names no folder; write file:///srv/tenure/bodies (an absolute path). Nothing was opened"
        raise BadURL(msg)
    said = read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read)
    return FolderBlobStore(path, clock, **{"create": True, "keep_seconds": KEEP_SECONDS} | said)


def _read(name: str, value: str) -> object:
    """Parse an option's value. None: the value is not valid."""
    return yes_or_no(value) if name == "create" else above_zero(value)
