"""The SDK's clients as Tenure wants them: one loop's own, nothing repeated by itself, every call counted.

A call that was sent twice could be done twice, so the SDK's retries are off: what to try again is decided above. Made
and closed by `store.py`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import AzureError
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import HttpRequest
from azure.data.tables.aio import TableClient
from azure.storage.blob.aio import BlobServiceClient
from azure.storage.queue.aio import QueueServiceClient

from tenure.adapters.azure import faults
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.timeline import Timeline
from tenure.errors import MissingExtra

#: Looks at a request before it goes out; for tests.
Hook = Callable[[Any], None]


#: However long the service asks us to stay away: leases must be renewed.
MOST_PAUSE = 10.0
_LARGE = 1 << 20
#: What we want to be let into.
_SCOPE = "https://storage.azure.com/.default"


class Transport(AioHttpTransport):  # type: ignore[misc]
    """Sends requests, counts them, and listens to what time the service says it is."""

    def __init__(self, kind: str, clients: "Clients", **options: Any) -> None:
        """For the service `kind`."""
        super().__init__(**options)
        self._kind = kind
        self._clients = clients

    async def open(self) -> None:
        """Connect. aiohttp too would repeat some requests by itself when a connection ends: a delete, a receive."""
        await super().open()
        if self.session is not None:
            self.session._retry_connection = False  # noqa: SLF001 - there is no other way to say so

    async def send(self, request: HttpRequest, **options: Any) -> Any:
        """As ever."""
        clients = self._clients
        clients.calls[self._kind] += 1
        data = getattr(request, "data", None)
        if isinstance(data, bytes) and len(data) > _LARGE:
            # As a file: aiohttp sends it in pieces, and the loop is free in between.
            request.data = BytesIO(data)
        if clients.hook is not None:
            clients.hook(request)
        asked = clients.monotonic()
        response = await super().send(request, **options)
        clients.timeline.hear(response.headers.get("Date"), asked)
        pause = faults.pause_seconds(response.status_code, response.headers)
        if pause:
            clients.busy_until = max(clients.busy_until, clients.monotonic() + min(pause, MOST_PAUSE))
        return response


class Clients:
    """Queue, table and blob of one account, for one event loop."""

    def __init__(
        self, options: Options, timeline: Timeline, monotonic: Callable[[], float], hook: Hook | None = None
    ) -> None:
        """Nothing is connected before it is used."""
        self._options = options
        self.timeline = timeline
        self.monotonic = monotonic
        self.hook = hook
        #: Monotonic: the service asked not to be called before.
        self.busy_until = 0.0
        #: How many calls each service got.
        self.calls: Counter[str] = Counter()
        self._credential = _credential(options)
        self._queues: dict[str, Any] = {}
        self._queue_service: Any = None
        self._table: Any = None
        self._blob_service: Any = None

    @property
    def queue_service(self) -> Any:
        """For what is not about one queue."""
        if self._queue_service is None:
            options = self._options
            self._queue_service = QueueServiceClient(
                options.queue_endpoint, self._credential, **self._settings("queue")
            )
        return self._queue_service

    def queue(self, name: str) -> Any:
        """The client of one queue, by the service's name for it."""
        client = self._queues.get(name)
        if client is None:
            client = self._queues[name] = self.queue_service.get_queue_client(name)
        return client

    @property
    def table(self) -> Any:
        """The table with everything in it."""
        if self._table is None:
            options = self._options
            self._table = TableClient(
                options.table_endpoint,
                options.table,
                credential=_for_table(self._credential),
                **self._settings("table"),
            )
        return self._table

    @property
    def blob_service(self) -> Any:
        """For the log, and for what is too large for a row."""
        if self._blob_service is None:
            options = self._options
            self._blob_service = BlobServiceClient(options.blob_endpoint, self._credential, **self._settings("blob"))
        return self._blob_service

    def _settings(self, kind: str) -> dict[str, Any]:
        seconds = self._options.timeout_seconds
        transport = Transport(kind, self, connection_timeout=seconds, read_timeout=seconds)
        return {"transport": transport, "retry_total": 0, "logging_enable": False}

    async def log_in(self, seconds: float) -> None:
        """Ask azure-identity who we are, where there is no key: it may look for long in places that do not answer."""
        if not hasattr(self._credential, "get_token"):
            return
        try:
            async with asyncio.timeout(seconds):
                await self._credential.get_token(_SCOPE)
        except (AzureError, ValueError, TimeoutError) as error:
            raise faults.no_credentials(self._options.place, error, self._options.doubt) from error

    async def close(self) -> None:
        """Let go of every connection."""
        for client in (self._queue_service, self._table, self._blob_service):
            if client is not None:
                await client.close()
        self._queues.clear()
        self._queue_service = self._table = self._blob_service = None
        if hasattr(self._credential, "close"):
            await self._credential.close()


def _credential(options: Options) -> Any:
    if options.key is not None:
        return {"account_name": options.account, "account_key": options.key}
    if options.sas is not None:
        return options.sas
    try:
        from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415 - slow, and needed by few
    except ImportError as error:
        msg = (
            f"{options.place}: there is neither a key nor a connection string (AZURE_STORAGE_CONNECTION_STRING), and "
            "azure-identity is not installed; nothing was started. Give one of them, or pip install azure-identity"
        )
        raise MissingExtra(msg) from error
    return DefaultAzureCredential()


def _for_table(credential: Any) -> Any:
    """The table's client wants the same things as other types."""
    if isinstance(credential, dict):
        return AzureNamedKeyCredential(credential["account_name"], credential["account_key"])
    return AzureSasCredential(credential) if isinstance(credential, str) else credential
