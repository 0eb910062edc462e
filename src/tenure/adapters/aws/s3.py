"""A blob store in S3: one object a body, under a prefix.

    s3://bucket/prefix?region=eu-west-1

The SDK's own retries are off, as everywhere here. A `put_object` is whole or not there. Workers need
GetObject, PutObject, DeleteObject and ListBucket (without it S3 does not tell what is missing from what is forbidden);
senders need only PutObject. Opened by `assembly.py`; errors in Tenure's words by `faults.py`.
"""

import asyncio
import contextlib
import io
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote

import msgspec
from aiobotocore.config import AioConfig  # type: ignore[import-untyped]
from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-untyped]
from aiohttp import ClientError

from tenure.adapters.aws import faults
from tenure.adapters.aws.session import new_session
from tenure.blobs import StoredBlob
from tenure.clock import Clock
from tenure.errors import BadURL, BrokerError, BrokerUnavailable, StoreMissing
from tenure.rules.cloud_errors import read_answer
from tenure.url_options import above_zero, read_query, web_address, yes_or_no

T = TypeVar("T")

_TAKEN = {
    "region": "a region such as eu-west-1",
    "endpoint": "a URL",
    "profile": "the name of a profile",
    "create": "yes or no",
    "timeout_seconds": "a number of seconds above 0",
    "keep_seconds": "a number of seconds above 0",
}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: How many calls may be under way at once, and how many objects one delete takes.
_AT_ONCE = 8
_MOST = 1000
_GONE = frozenset({"NoSuchKey", "404", "NotFound"})
_HOME = "us-east-1"


class BucketOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL says."""

    bucket: str
    #: With a slash at its end, or empty.
    prefix: str
    region: str
    endpoint: str | None = None
    profile: str | None = None
    create: bool = False
    #: For a connection, and for an answer to begin; a large body takes as long as it takes.
    timeout_seconds: float = 20.0
    keep_seconds: float = 30 * 86_400.0


def read_bucket(url: str, parts: SplitResult) -> BucketOptions:
    """What `url` says. Raises `BadURL`."""
    if not _BUCKET.fullmatch(parts.netloc):
        msg = f"{url!r} names no bucket; write s3://bucket/prefix?region=eu-west-1. Nothing was opened"
        raise BadURL(msg)
    prefix = unquote(parts.path).strip("/")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _HOME
    said: dict[str, Any] = {"bucket": parts.netloc, "prefix": f"{prefix}/" if prefix else "", "region": region}
    said |= read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read)
    return BucketOptions(**said)


def _read(name: str, value: str) -> object:
    """None: it is not a value that is taken."""
    match name:
        case "create":
            return yes_or_no(value)
        case "timeout_seconds" | "keep_seconds":
            return above_zero(value)
        case "endpoint":
            return web_address(value)
        case "region":
            return value if re.fullmatch(r"[a-z0-9-]+", value) else None
    return value or None


class _Session(AIOHTTPSession):  # type: ignore[misc]
    """aiohttp too would repeat a PUT by itself when a connection ends, with a body that was read already."""

    async def _get_session(self, proxy_url: str | None) -> Any:
        session = await super()._get_session(proxy_url)
        session._retry_connection = False  # noqa: SLF001 - there is no other way to say so
        return session


class S3BlobStore:
    """One prefix of one bucket, on one event loop."""

    def __init__(self, options: BucketOptions, clock: Clock) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.place = f"s3://{options.bucket}/{options.prefix}".rstrip("/")
        self.keep_seconds = options.keep_seconds
        self._clock = clock
        self._client: Any = None
        self._stack = contextlib.AsyncExitStack()
        self._gate = asyncio.Semaphore(_AT_ONCE)
        self._busy = 0

    def twin(self) -> "S3BlobStore":
        """A client belongs to one loop."""
        return S3BlobStore(self.options, self._clock)

    async def open(self) -> None:
        """Connect, and look whether there is such a bucket."""
        options = self.options
        self._gate = asyncio.Semaphore(_AT_ONCE)
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None:  # virtual time must not go on while an answer is on its way
            watch(lambda: self._busy > 0)
        config = AioConfig(
            retries={"total_max_attempts": 1},
            connect_timeout=options.timeout_seconds,
            read_timeout=options.timeout_seconds,
            max_pool_connections=_AT_ONCE,
            http_session_cls=_Session,
            # A host of one's own seldom has a name for every bucket.
            s3={"addressing_style": "path" if options.endpoint else "auto"},
        )
        stack = contextlib.AsyncExitStack()
        try:
            self._client = await self._translated(
                "opening",
                lambda: stack.enter_async_context(
                    new_session(options.profile).create_client(
                        "s3", region_name=options.region, endpoint_url=options.endpoint, config=config
                    )
                ),
            )
            await self._look()
        except BaseException:
            self._client = None
            await stack.aclose()
            raise
        self._stack = stack

    async def _look(self) -> None:
        if self.options.create:
            await self._make()
        try:
            await self._client.head_bucket(Bucket=self.options.bucket)
        except Exception as error:
            code = read_answer(error).code
            if code == "403":  # who only sends may not look
                return
            raise self._said(error, "head_bucket") from error

    async def _make(self) -> None:
        where = {} if self.options.region == _HOME else {"LocationConstraint": self.options.region}
        words: dict[str, Any] = {"CreateBucketConfiguration": where} if where else {}
        try:
            await self._client.create_bucket(Bucket=self.options.bucket, **words)
        except Exception as error:
            if read_answer(error).code not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
                raise self._said(error, "create_bucket") from error

    async def close(self) -> None:
        """Let go of the client."""
        self._client = None
        await self._stack.aclose()

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Keep these."""
        await self._each([lambda name=name, body=body: self._put(name, body) for name, body in batch])  # type: ignore[misc]

    async def _put(self, name: str, body: bytes) -> None:
        # A file, not bytes: aiohttp sends it in pieces, and the loop is free in between.
        await self._translated(
            "put_object",
            lambda: self._client.put_object(
                Bucket=self.options.bucket, Key=self._key(name), Body=io.BytesIO(body), ContentType="application/json"
            ),
        )

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """What was left under these names."""
        return await self._each([lambda name=name: self._get(name) for name in names])  # type: ignore[misc]

    async def _get(self, name: str) -> bytes | None:
        async def read() -> bytes | None:
            try:
                answer = await self._client.get_object(Bucket=self.options.bucket, Key=self._key(name))
            except Exception as error:
                if read_answer(error).code in _GONE:
                    return None
                raise
            async with answer["Body"] as stream:
                try:
                    body: bytes = await stream.read()
                except ClientError as error:  # the SDK has let go of it by now: this is the connection's
                    msg = f"{self.place} ended its answer too soon ({error}); it is tried again"
                    raise BrokerUnavailable(msg) from error
                return body

        return await self._translated("get_object", read)

    async def discard(self, names: Sequence[str]) -> None:
        """Keep these no longer."""
        for start in range(0, len(names), _MOST):
            keys = [{"Key": self._key(name)} for name in names[start : start + _MOST]]
            words = {"Objects": keys, "Quiet": True}
            answer = await self._translated(
                "delete_objects",
                lambda words=words: self._client.delete_objects(Bucket=self.options.bucket, Delete=words),  # type: ignore[misc]
            )
            failed = answer.get("Errors") or []
            if failed:
                first = failed[0]
                msg = f"{self.place} did not discard {len(failed)} of {len(keys)} bodies: {first.get('Code')}"
                raise BrokerError(msg)

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """What lies there, in the order of names."""
        left: list[StoredBlob] = []
        while len(left) < limit:
            words = {"StartAfter": self._key(after)} if after else {}
            answer = await self._translated(
                "list_objects_v2",
                lambda words=words: self._client.list_objects_v2(  # type: ignore[misc]
                    Bucket=self.options.bucket, Prefix=self.options.prefix, MaxKeys=min(_MOST, limit), **words
                ),
            )
            now, cut = self._clock.wall(), len(self.options.prefix)
            for one in answer.get("Contents", ()):
                age = max(0.0, now - one["LastModified"].timestamp())
                left.append(StoredBlob(one["Key"][cut:], one["Size"], age))
            if not answer.get("IsTruncated") or not left:
                break
            after = left[-1].name
        return left[:limit]

    def _key(self, name: str) -> str:
        return f"{self.options.prefix}{name}"

    async def _each(self, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Several calls side by side; what one raises is raised when all are through."""

        async def one(act: Callable[[], Awaitable[T]]) -> T:
            async with self._gate:
                return await act()

        answers = await asyncio.gather(*map(one, acts), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers  # type: ignore[return-value]

    async def _translated(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        self._busy += 1
        try:
            return await act()
        except Exception as error:
            raise self._said(error, what) from error
        finally:
            self._busy -= 1

    def _said(self, error: Exception, what: str) -> Exception:
        if read_answer(error).code in ("NoSuchBucket", "404"):
            return StoreMissing(
                f"{self.place}: there is no such bucket ({what}); nothing was kept. Make it, or create=yes"
            )
        return faults.translate(error, what, self.place)
