"""Records in a container of Azure Blob Storage: one blob a key, created with `If-None-Match: *`.

Two who create it at once: one succeeds, the other gets an error. Replacing and removing name the ETag that was seen.
Nothing is read but the one blob. Old blobs are removed by `prune`, or by a lifecycle rule on the prefix, of as many
days as the deduplicator remembers.
"""

from typing import Any

from tenure.errors import BadArgument
from tenure.rules.cloud_errors import AnswerKind, read_answer
from tenure.standalone.steps import StepCall, Steps, is_async
from tenure.standalone.stores.port import Found

_NOT_FOUND = 404


class BlobStore:
    """A `ContainerClient` of the Azure SDK, sync or async. The container must be there."""

    def __init__(self, container_client: Any, prefix: str = "message-dedup/") -> None:
        """Blobs are named `{prefix}{key}.json`."""
        if not hasattr(container_client, "container_name"):
            raise BadArgument(
                f"a {type(container_client).__name__} is not a container client: pass a ContainerClient, as "
                "get_container_client(…) of a BlobServiceClient gives it; nothing was asked"
            )
        self._container = container_client
        self._prefix = prefix

    def read(self, key: str) -> Steps[Found | None]:
        """Read the blob."""
        try:
            stream = yield StepCall(self._blob(key).download_blob)
            record = yield StepCall(stream.readall)
        except Exception as error:
            if _is_not_found(error):
                return None
            raise
        return Found(bytes(record), str(stream.properties.etag))

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        """Create the blob."""
        del keep_seconds  # only pruning needs it
        return (yield from self._write(key, record, overwrite=False))

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        """Overwrite the blob, if it is the one that was seen."""
        del keep_seconds
        return (yield from self._write(key, record, overwrite=True, headers={"If-Match": tag}))

    def _write(self, key: str, record: bytes, **how: Any) -> Steps[str | None]:
        try:
            answer = yield StepCall(self._blob(key).upload_blob, record, **how)
        except Exception as error:
            if read_answer(error).kind is AnswerKind.CONFLICT or (how["overwrite"] and _is_not_found(error)):
                return None
            raise
        return str(answer["etag"])

    def drop(self, key: str, tag: str) -> Steps[None]:
        """Delete the blob, if it is the one that was seen."""
        try:
            yield StepCall(self._blob(key).delete_blob, headers={"If-Match": tag})
        except Exception as error:
            if read_answer(error).kind is not AnswerKind.CONFLICT and not _is_not_found(error):
                raise

    def prune(self, prefix: str, before: float) -> Steps[int]:
        """List the blobs, a request for each 5 000 of them, and delete the old ones, a request each."""
        container, begin = self._container, f"{self._prefix}{prefix}"

        def listed() -> list[tuple[str, str]]:
            return [_named(blob) for blob in container.list_blobs(name_starts_with=begin) if _is_old(blob, before)]

        async def listed_in_loop() -> list[tuple[str, str]]:
            blobs = container.list_blobs(name_starts_with=begin)
            return [_named(blob) async for blob in blobs if _is_old(blob, before)]

        is_awaited = is_async(container.get_container_properties)
        old = yield StepCall(listed_in_loop if is_awaited else listed)
        for key, tag in old:
            yield from self.drop(key.removeprefix(self._prefix).removesuffix(".json"), tag)
        return len(old)

    def _blob(self, key: str) -> Any:
        return self._container.get_blob_client(f"{self._prefix}{key}.json")


def _is_not_found(error: Exception) -> bool:
    answer = read_answer(error)
    return answer.status == _NOT_FOUND and answer.code != "ContainerNotFound"


def _named(blob: Any) -> tuple[str, str]:
    return str(blob.name), str(blob.etag)


def _is_old(blob: Any, before: float) -> bool:
    return bool(blob.last_modified.timestamp() < before)
