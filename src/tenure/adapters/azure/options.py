"""How a storage account is used: what a URL says, and what the environment adds.

    azure://account                            keys from AZURE_STORAGE_CONNECTION_STRING, else azure-identity
    azure://account?key=…                      the account's key (rather in the environment than in a URL)
    azure://account?state=redis://host:6379/0  the state in Redis; also sqlite:///file.db, and local
    azure://                                   the account that AZURE_STORAGE_CONNECTION_STRING names; Azurite, if it
                                               says UseDevelopmentStorage=true
    azure://devstoreaccount1?queue_endpoint=http://127.0.0.1:10001/devstoreaccount1&…   Azurite; also table_ and blob_

Nothing is created unless `create=yes` says so: a queue that is missing is more often a slip of the pen. State lies in
the same account (Tables; Blobs for what is large), or elsewhere (`state=redis://…`, `state=local`). Read here, used by
`clients.py` and `store.py`.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from tenure.errors import BadURL
from tenure.rules.storage_account import is_account, read_connection_string
from tenure.url_options import above_zero, read_query, web_address, yes_or_no

#: What a URL may say after its `?`, and what is taken.
_TAKEN = {
    "key": "the account's key",
    "create": "yes or no",
    "prefix": "up to 20 of a-z and 0-9, a letter first",
    "queue_endpoint": "a URL",
    "table_endpoint": "a URL",
    "blob_endpoint": "a URL",
    "encoding": "plain or base64",
    "wire": "envelope or plain",
    "poll_seconds": "a number of seconds above 0",
    "timeout_seconds": "a number of seconds above 0",
    "keep_seconds": "a number of seconds above 0",
    "partitions": "a number from 1 to 64",
    "state": "redis://…, sqlite:///file.db, or local (a file of this machine)",
    "core": "azure or rowstore",
    "log": "the name of a service, for message-logs/{service}/{date}/processed.jsonl",
}
_NUMBERS = frozenset({"poll_seconds", "timeout_seconds", "keep_seconds"})
_MAX_PARTITIONS = 64
#: Names by which deployments that exist already tell how to reach their account.
CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
_PREFIX = re.compile(r"[a-z][a-z0-9]{0,19}\Z")
_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the account is reached and used."""

    account: str
    #: None: ask azure-identity.
    key: str | None = None
    sas: str | None = None
    queue_endpoint: str
    table_endpoint: str
    blob_endpoint: str
    #: Why the connection string of the environment is of no use here, if there is one.
    doubt: str = ""
    #: Whether what is missing is created.
    create: bool = False
    #: Before the name of every queue and of the table; for several programs in one account.
    prefix: str = ""
    #: How messages are written. Both are read.
    encoding: str = "plain"
    #: What stands in a message (`wire.py`). Both are read.
    wire: str = "envelope"
    #: The longest pause between two looks at an empty queue.
    poll_seconds: float = 1.0
    timeout_seconds: float = 10.0
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86_400.0
    #: Parts of the table; each takes about 2 000 changes a second. The same for everybody who uses the prefix.
    partitions: int = 1
    #: Which core decides about messages: the one here, or `rowstore`.
    core: str = "azure"
    #: Where the state is, if not in the account: another URL, which `assembly` opens.
    state_url: str | None = None
    #: Of the log for people. Empty: none is written.
    log: str = ""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"the storage account {self.account}"

    @property
    def table(self) -> str:
        """The name of the table."""
        return f"{self.prefix}tenure" + ("rows" if self.core == "rowstore" else "")


def read_options(url: str, parts: SplitResult, environment: Mapping[str, str] | None = None) -> Options:
    """What `url` says, and the environment where it says nothing. Raises `BadURL`."""
    environment = os.environ if environment is None else environment
    said = read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read, secrets=frozenset({"key"}))
    if "state" in said:
        said["state_url"] = said.pop("state")
    told = read_connection_string(environment.get(CONNECTION_STRING, ""))
    account = parts.netloc or told.get("AccountName") or environment.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    if not is_account(account):
        msg = f"{url!r} names no storage account ({account!r}); write azure://account (3 to 24 of a-z and 0-9)"
        raise BadURL(msg)
    if parts.path.strip("/"):
        msg = f"{url!r}: a queue belongs to its task, not to the URL; write azure://{account}. Nothing was opened"
        raise BadURL(msg)
    doubt = ""
    if told.get("AccountName", account) != account:
        told, doubt = {}, f"{CONNECTION_STRING} is of another account, and not used"
    elif environment.get(CONNECTION_STRING) and not told.keys() & {"AccountKey", "SharedAccessSignature"}:
        doubt = f"{CONNECTION_STRING} has neither AccountKey nor SharedAccessSignature"
    suffix = told.get("EndpointSuffix", "core.windows.net")
    scheme = told.get("DefaultEndpointsProtocol", "https")
    fields: dict[str, Any] = {
        "account": account,
        "key": told.get("AccountKey"),
        "sas": told.get("SharedAccessSignature"),
        "doubt": doubt,
    }
    for kind in ("queue", "table", "blob"):
        usual = f"{scheme}://{account}.{kind}.{suffix}"
        fields[f"{kind}_endpoint"] = told.get(f"{kind.title()}Endpoint", usual).rstrip("/")
    return Options(**fields | said)


def _read(name: str, value: str) -> object:  # noqa: C901, PLR0911 - a table of them
    """None: it is not a value that is taken."""
    if name in _NUMBERS:
        return above_zero(value)
    match name:
        case "create":
            return yes_or_no(value)
        case "prefix":
            # As on SQS it may be written with the dash that stands between it and the name of a queue.
            return name if _PREFIX.match(name := value.removesuffix("-")) else None
        case "core":
            return value if value in ("azure", "rowstore") else None
        case "encoding":
            return value if value in ("plain", "base64") else None
        case "wire":
            return value if value in ("envelope", "plain") else None
        case "partitions":
            return int(value) if value.isdecimal() and 0 < int(value) <= _MAX_PARTITIONS else None
        case "queue_endpoint" | "table_endpoint" | "blob_endpoint":
            return web_address(value)
        case "state":
            return value if urlsplit(value).scheme or value == "local" else None
        case "log":
            return value if _SERVICE.match(value) else None
    return value.replace(" ", "+") or None  # a key: in a query a plus sign means a blank, of which it has none
