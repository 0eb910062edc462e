"""Records in a container of Azure Blob Storage: one blob a key, created with `If-None-Match: *`.

Two who create it at once: one does, the other is told. Replacing and removing name the ETag that was seen. Nothing is
read but the one blob. Old blobs are the container's own to remove: a lifecycle rule on the prefix, of as many days as
the deduplicator remembers.
"""

from typing import Any

from tenure.answer import AnswerKind, read_answer
from tenure.errors import BadArgument
from tenure.standalone.steps import Call, Steps
from tenure.standalone.stores.port import Found

_NOT_FOUND = 404


class BlobStore:
    """A `ContainerClient` of the Azure SDK, sync or async. The container must be there."""

    def __init__(self, container_client: Any, prefix: str = "message-dedup/") -> None:
        """Blobs are named `{prefix}{key}.json`."""
        if not hasattr(container_client, "container_name"):
            raise BadArgument(
                f"a {type(container_client).__name__} is no client of a container: pass a ContainerClient, as "
                "get_container_client(…) of a BlobServiceClient gives it; nothing was asked"
            )
        self._container = container_client
        self._prefix = prefix

    def read(self, key: str) -> Steps[Found | None]:
        """The blob."""
        try:
            stream = yield Call(self._blob(key).download_blob)
            record = yield Call(stream.readall)
        except Exception as error:
            if _is_not_found(error):
                return None
            raise
        return Found(bytes(record), str(stream.properties.etag))

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        """Create the blob."""
        del keep_seconds  # a lifecycle rule knows
        return (yield from self._write(key, record, overwrite=False))

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        """Overwrite the blob, if it is the one that was seen."""
        del keep_seconds
        return (yield from self._write(key, record, overwrite=True, headers={"If-Match": tag}))

    def _write(self, key: str, record: bytes, **how: Any) -> Steps[str | None]:
        try:
            answer = yield Call(self._blob(key).upload_blob, record, **how)
        except Exception as error:
            if read_answer(error).kind is AnswerKind.CONFLICT or (how["overwrite"] and _is_not_found(error)):
                return None
            raise
        return str(answer["etag"])

    def drop(self, key: str, tag: str) -> Steps[None]:
        """Delete the blob, if it is the one that was seen."""
        try:
            yield Call(self._blob(key).delete_blob, headers={"If-Match": tag})
        except Exception as error:
            if read_answer(error).kind is not AnswerKind.CONFLICT and not _is_not_found(error):
                raise

    def _blob(self, key: str) -> Any:
        return self._container.get_blob_client(f"{self._prefix}{key}.json")


def _is_not_found(error: Exception) -> bool:
    answer = read_answer(error)
    return answer.status == _NOT_FOUND and answer.code != "ContainerNotFound"
