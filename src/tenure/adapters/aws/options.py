"""How the services are reached and used: what a URL says before and after its `?`.

    sqs://eu-west-1                                 queues there, state in the DynamoDB table `tenure` there
    sqs://eu-west-1?profile=ops&prefix=shop         credentials of a profile; physical queues are called shop-…
    sqs://eu-west-1?create=yes                      queues and the table are made where they are missing
    sqs://eu-west-1?priorities=3                    three physical queues to a queue: …, …-low, …-high
    sqs://eu-west-1?wire=plain                      bodies are the payload alone, for workers that do not know Tenure
    sqs://eu-west-1?endpoint=http://localhost:4566  another server that speaks the same
    sqs://eu-west-1?state=dynamodb://eu-north-1/jobs   the state elsewhere

Without `profile` the usual chain of credentials is asked: environment, shared files, container, instance.

Read here, used by `session.py`, `sqs.py` and `dynamo.py`.
"""

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

from tenure.errors import BadURL
from tenure.rowstore.wire import ENVELOPE, PLAIN
from tenure.url_options import above_zero, read_query, web_address, yes_or_no

#: What a URL may say after its `?`, and what is taken.
_TAKEN = {
    "endpoint": "the URL of a server, http://host:port or https://…",
    "state": "dynamodb://region/table, another state's URL, or local",
    "state_endpoint": "the URL of a server for the state, if it is not the queues' own",
    "table": "the name of a DynamoDB table: 3 to 255 letters, digits and . - _",
    "profile": "the name of a profile in the shared configuration",
    "account": "the number of the account that has the queues: 12 digits",
    "prefix": "up to 40 letters, digits, - and _",
    "create": "yes or no",
    "priorities": "1, 2 or 3",
    "wire": "envelope or plain",
    "redrive_policy": "refuse or accept",
    "keep_seconds": "a number of seconds above 0",
    "body_limit": "a number of bytes from 1024 to 1048576",
    "timeout_seconds": "a number of seconds above 0",
}
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_TABLE = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,40}")

#: The largest message there is, body and attributes.
MAX_BODY = 1024 * 1024
#: What we need for attributes of our own, at most.
ATTRIBUTES = 256


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the services are reached and used."""

    region: str
    endpoint: str | None = None
    #: Where the state is: a region and a table of DynamoDB, or another URL that `assembly` opens.
    state_region: str = ""
    state_endpoint: str | None = None
    state_url: str | None = None
    table: str = "tenure"
    profile: str | None = None
    account: str | None = None
    #: As it stands before the name of every queue, with what keeps the two apart.
    prefix: str = ""
    #: Whether queues and the table are made where they are missing.
    create: bool = False
    priorities: int = 1
    #: How messages are written (`rowstore/wire.py`). Both are read.
    wire: str = ENVELOPE
    #: Whether a queue may be used whose own policy moves messages away after few receives (`redrive_policy.py`).
    accepts_redrive_policy: bool = False
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86_400.0
    body_limit: int = MAX_BODY - ATTRIBUTES
    #: How long to wait for an answer.
    timeout_seconds: float = 10.0
    #: How long one delivery may be held, however often it is touched: SQS ends it after 12 hours, without asking.
    hold_seconds: float = 11.5 * 3600.0

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"SQS in {self.region}" if self.endpoint is None else f"SQS at {self.endpoint}"

    @property
    def state_place(self) -> str:
        """Where the state is, for people."""
        where = self.state_endpoint or self.endpoint
        return f"DynamoDB table {self.table} in {self.state_region or self.region}" + (f" at {where}" if where else "")


def read_options(url: str, parts: SplitResult) -> Options:
    """What `url` says. Raises `BadURL`."""
    region = parts.netloc
    if not _REGION.fullmatch(region):
        msg = f"{url!r} names no region; write sqs://eu-west-1. Nothing was opened"
        raise BadURL(msg)
    if parts.path.strip("/"):
        msg = f"{url!r}: a queue belongs to its task, not to the URL; write sqs://{region}. Nothing was opened"
        raise BadURL(msg)
    said = read_query(url, parse_qsl(parts.query, keep_blank_values=True), _TAKEN, _read)
    where = said.pop("state", {})  # several fields in one word
    if "redrive_policy" in said:
        said["accepts_redrive_policy"] = said.pop("redrive_policy") == "accept"
    return Options(region=region, **said | where)


def _read(name: str, value: str) -> object:  # noqa: C901, PLR0911 - a table of them
    """None: it is not a value that is taken."""
    match name:
        case "create":
            return yes_or_no(value)
        case "priorities":
            return int(value) if value in ("1", "2", "3") else None
        case "wire":
            return value if value in (ENVELOPE, PLAIN) else None
        case "keep_seconds" | "timeout_seconds":
            return above_zero(value)
        case "body_limit":
            return int(value) if value.isdecimal() and 1024 <= int(value) <= MAX_BODY else None  # noqa: PLR2004
        case "endpoint" | "state_endpoint":
            return web_address(value)
        case "table":
            return value if _TABLE.fullmatch(value) else None
        case "prefix":
            return _apart(value) if _PREFIX.fullmatch(value) else None
        case "redrive_policy":
            return value if value in ("refuse", "accept") else None
        case "account":
            return value if re.fullmatch(r"\d{12}", value) else None
        case "state":
            return _state(value)
    return value or None


def _apart(prefix: str) -> str:
    """Set apart from the name that follows, as on Azure. `shop` is `shop-`; what ends in - or _ is apart already."""
    return prefix if prefix[-1] in "-_" else f"{prefix}-"


def _state(value: str) -> dict[str, str] | None:
    parts = urlsplit(value)
    if parts.scheme != "dynamodb":
        return {"state_url": value} if parts.scheme or value == "local" else None
    table = unquote(parts.path.strip("/"))
    if not _REGION.fullmatch(parts.netloc) or (table and not _TABLE.fullmatch(table)):
        return None
    return {"state_region": parts.netloc} | ({"table": table} if table else {})
