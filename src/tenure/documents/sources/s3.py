"""A bucket of S3, or a prefix in it, with the credentials that any AWS tool finds.

s3://bucket/prefix?region=eu-west-1&endpoint=http://127.0.0.1:4566
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qsl

from tenure.documents.errors import DocumentMissing, IndexUnavailable
from tenure.documents.sources.names import checked_name, too_large
from tenure.errors import BadURL, MissingExtra

_OPTIONS = {"region": "region_name", "endpoint": "endpoint_url"}
_MISSING = {"NoSuchKey", "404", "NotFound"}


class S3Source:
    """The objects of a bucket."""

    def __init__(self, bucket: str, prefix: str, query: str) -> None:
        """Read below `prefix`; `query` is that of the URL."""
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        said = dict(parse_qsl(query))
        if unknown := said.keys() - _OPTIONS.keys():
            raise BadURL(f"{', '.join(sorted(unknown))} is no option of an s3:// source; there are region, endpoint")
        self._options = {_OPTIONS[name]: value for name, value in said.items()}
        self._stack = AsyncExitStack()
        self._client: Any = None

    @property
    def place(self) -> str:
        """The bucket and prefix."""
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    async def fetch(self, name: str, most: int) -> bytes:
        """As the port says."""
        key = self._prefix + checked_name(name)
        client = await self._opened()
        try:
            answer = await client.get_object(Bucket=self._bucket, Key=key)
            async with answer["Body"] as body:
                too_large(answer["ContentLength"], most, name)
                data: bytes = await body.read()
        except Exception as error:
            raise self._told(error, name) from error
        return data

    async def names(self, prefix: str) -> AsyncIterator[str]:
        """As the port says."""
        start = self._prefix + checked_name(prefix, may_be_folder=True)
        client = await self._opened()
        try:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=start)
            async for page in pages:
                for found in page.get("Contents", ()):
                    yield found["Key"][len(self._prefix) :]
        except Exception as error:
            raise self._told(error, prefix) from error

    def _told(self, error: Exception, name: str) -> Exception:
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        if isinstance(error, ClientError):
            if error.response.get("Error", {}).get("Code") in _MISSING:
                return DocumentMissing(f"there is no {name} in {self.place}. It was not indexed")
            return IndexUnavailable(f"{self.place} cannot be read: {error}")
        if isinstance(error, BotoCoreError):
            return IndexUnavailable(f"{self.place} cannot be read: {error}")
        return error

    async def _opened(self) -> Any:
        if self._client is None:
            try:
                from aiobotocore.session import get_session  # type: ignore[import-untyped]
            except ImportError as error:
                raise MissingExtra(f"{self.place} needs AWS's client: pip install 'tenure[aws]'") from error
            self._client = await self._stack.enter_async_context(get_session().create_client("s3", **self._options))
        return self._client

    async def close(self) -> None:
        """Disconnect."""
        await self._stack.aclose()
        self._client = None
