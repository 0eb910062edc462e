"""The settings of one Azure Storage queue, from the environment as existing deployments name it."""

import os
import re
from collections.abc import Mapping

import msgspec

from tenure.errors import BadSetting
from tenure.standalone.visibility_timeout import PROCESSING_TIME_ESTIMATES, calculate_visibility_timeout

_DEFAULT_QUEUE = "content-processing-requests"
_DEFAULT_TIMEOUT = 30
_QUEUE_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*")
#: What `UseDevelopmentStorage=true` means: the account and the queue endpoint of Azurite on this machine.
_DEVELOPMENT_ACCOUNT = "devstoreaccount1"
_DEVELOPMENT_ENDPOINT = f"http://127.0.0.1:10001/{_DEVELOPMENT_ACCOUNT}"
_ACCOUNT_NAME = re.compile(r"[a-z0-9]{3,24}")


class StorageQueueConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a queue, and how to receive from it."""

    #: Empty: not set; a connection string may name it.
    storage_account_name: str
    queue_name: str
    #: Seconds between two looks into an empty queue.
    max_wait_time: int = 1
    max_messages: int = 10
    retry_attempts: int = 3
    #: Seconds for which a message is hidden.
    visibility_timeout: int = _DEFAULT_TIMEOUT
    #: Where the account's queues are, if a connection string says so. Empty: at the account's usual address.
    queue_endpoint: str = ""

    @classmethod
    def from_environment(
        cls, queue_name: str | None = None, environment: Mapping[str, str] | None = None
    ) -> "StorageQueueConfig":
        """Read AZURE_STORAGE_ACCOUNT_NAME, STORAGE_QUEUE_NAME and CONTAINER_NAME.

        Without a name of the account, AZURE_STORAGE_CONNECTION_STRING may name it, or say `UseDevelopmentStorage=true`.
        The timeout is the one for the container's profile, 30 s where it has none. One `BadSetting` names all mistakes.
        """
        source = os.environ if environment is None else environment
        account, endpoint = _read(source, "AZURE_STORAGE_ACCOUNT_NAME"), ""
        if not account:
            account, endpoint = _of_connection_string(_read(source, "AZURE_STORAGE_CONNECTION_STRING"))
        queue = queue_name or _read(source, "STORAGE_QUEUE_NAME") or _DEFAULT_QUEUE
        mistakes = []
        if not _QUEUE_NAME.fullmatch(queue):
            name = "queue_name" if queue_name else "STORAGE_QUEUE_NAME"
            mistakes.append(f"{name}={queue!r} is not allowed; it takes 3 to 63 of a-z, 0-9 and single dashes")
        if account and not _ACCOUNT_NAME.fullmatch(account):
            mistakes.append(f"AZURE_STORAGE_ACCOUNT_NAME={account!r} is not allowed; it takes 3 to 24 of a-z and 0-9")
        if mistakes:
            raise BadSetting("; ".join(mistakes))
        container = _read(source, "CONTAINER_NAME")
        known = container in PROCESSING_TIME_ESTIMATES
        timeout = calculate_visibility_timeout(container) if known else _DEFAULT_TIMEOUT
        return cls(storage_account_name=account, queue_name=queue, visibility_timeout=timeout, queue_endpoint=endpoint)

    @property
    def account_url(self) -> str:
        """The account's address, for `QueueClient(account_url=…)`. Raises `BadSetting` if none is set."""
        if self.queue_endpoint:
            return self.queue_endpoint
        if not self.storage_account_name:
            raise BadSetting("AZURE_STORAGE_ACCOUNT_NAME is not set: set it, or connect by a connection string")
        return f"https://{self.storage_account_name}.queue.core.windows.net"


def _read(source: Mapping[str, str], name: str) -> str:
    return source.get(name, "").strip()


def _of_connection_string(text: str) -> tuple[str, str]:
    """The account and the endpoint of its queues; empty where it does not say."""
    pairs = (part.partition("=") for part in text.split(";"))
    said = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if said.get("usedevelopmentstorage", "").lower() == "true":
        return _DEVELOPMENT_ACCOUNT, _DEVELOPMENT_ENDPOINT
    return said.get("accountname", ""), said.get("queueendpoint", "").rstrip("/")
