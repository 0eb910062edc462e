"""Examines a storage account: which queues are there, rights, encryption, and when a signature ends.

Makes no queue, receives nothing and sends nothing. Rights are tried with calls that cannot do anything: a peek, and an
update and a delete of a message that never was. Used by `AzureBroker.examine`.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec
from azure.core.exceptions import HttpResponseError

from tenure.adapters.azure.options import Options
from tenure.errors import LoginRefused, StoreMissing, TenureError
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.ledger_window import examine_window
from tenure.rules.open_connection import find_unencrypted
from tenure.text.plural import plural

if TYPE_CHECKING:
    from tenure.adapters.azure.session import Session

#: This many queues are looked at; each costs three requests.
MOST_QUEUES = 50
_FORBIDDEN = frozenset({401, 403})
#: A signature that ends so soon should be renewed now.
_SOON_SECONDS = 14 * 86_400.0
_DAY = 86_400.0


class _Looked(msgspec.Struct, frozen=True, kw_only=True):
    queue: str
    denied: tuple[str, ...] = ()
    is_missing: bool = False
    trouble: str = ""


async def examine(store: "Session", queues: Sequence[str]) -> list[Examination]:
    """Examine the account, and these queues of it."""
    looked = await asyncio.gather(*(_look(store, queue) for queue in queues[:MOST_QUEUES]))
    options = store.options
    return [
        _connection(options),
        _signature(options, store.wall()),
        _presence(store, looked),
        _rights(looked),
        examine_window(options.place, options.keep_seconds),
    ]


async def _look(store: "Session", queue: str) -> _Looked:
    client = store.queue(queue)
    acts = {
        "peek": lambda: client.peek_messages(max_messages=1),
        "update": lambda: client.update_message("tenure-doctor", pop_receipt="none", visibility_timeout=0),
        "delete": lambda: client.delete_message("tenure-doctor", pop_receipt="none"),
    }
    denied: list[str] = []
    for name, act in acts.items():
        try:
            await store.call(f"examining a queue ({name})", act)
        except StoreMissing:
            return _Looked(queue=queue, is_missing=True)
        except HttpResponseError as error:
            if error.status_code in _FORBIDDEN:
                denied.append(name)
        except TenureError as error:
            cause = error.__cause__
            status = cause.status_code if isinstance(cause, HttpResponseError) else None
            if isinstance(error, LoginRefused) or status in _FORBIDDEN:
                denied.append(name)
            elif status is None:
                return _Looked(queue=queue, trouble=str(error))
    return _Looked(queue=queue, denied=tuple(denied))


def _connection(options: Options) -> Examination:
    ends = (options.queue_endpoint, options.table_endpoint, options.blob_endpoint)
    hosts = dict.fromkeys(urlsplit(end).hostname or "" for end in ends if end.startswith("http://"))
    remedy = "Use https in the endpoints, and require secure transfer in the account's settings"
    return Examination(
        id="connection", area=Area.STORE, title="connection",
        seen=f"without TLS, at {', '.join(hosts)}" if hosts else "by TLS",
        findings=tuple(find_unencrypted(options.place, tuple(hosts), remedy=remedy)),
    )  # fmt: skip


def _signature(options: Options, wall: float) -> Examination:
    """When the shared access signature ends, if one is used: from then on nothing works."""
    title = "signature"
    if options.sas is None:
        return Examination(
            id="signature", area=Area.ACCESS, title=title,
            seen="the account's key" if options.key is not None else "an identity of Azure",
        )  # fmt: skip
    said = parse_qs(options.sas.removeprefix("?")).get("se", [""])[0]
    try:
        end = datetime.fromisoformat(said).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return Examination(id="signature", area=Area.ACCESS, title=title, unknown="its end is set in a stored policy")
    left = end - wall
    findings: tuple[Finding, ...] = ()
    if left < _SOON_SECONDS:
        severity = Severity.CRITICAL if left < _DAY else Severity.WARNING
        evidence = (
            f"the shared access signature ends at {said}, in {max(0.0, left) / _DAY:.1f} days; then nothing works"
        )
        remedy = "Make a new signature, and set it in AZURE_STORAGE_CONNECTION_STRING of every process"
        findings = (Finding("signature_expiring", severity, options.place, evidence, remedy),)
    return Examination(id="signature", area=Area.ACCESS, title=title, seen=f"valid until {said}", findings=findings)


def _presence(store: "Session", looked: Sequence[_Looked]) -> Examination:
    missing = [one.queue for one in looked if one.is_missing]
    trouble = next((one.trouble for one in looked if one.trouble), "")
    if trouble and (not missing or store.options.create):
        return Examination(id="queues_there", area=Area.QUEUES, title="queues there", unknown=trouble)
    there = sum(not (one.is_missing or one.trouble) for one in looked)
    findings: list[Finding] = []
    if missing and not store.options.create:
        evidence = "the account has no such queue: a send to it is refused, and a worker on it does not start"
        remedy = "Make the queue, or add create=yes to the URL"
        findings = [Finding("queue_missing", Severity.CRITICAL, f"queue {name}", evidence, remedy) for name in missing]
    made = f", {len(missing)} will be made when first used" if missing and store.options.create else ""
    return Examination(
        id="queues_there", area=Area.QUEUES, title="queues there",
        seen=f"{there} of {plural(len(looked), 'queue')} in the account{made}",
        findings=tuple(findings),
    )  # fmt: skip


def _rights(looked: Sequence[_Looked]) -> Examination:
    findings = [
        Finding(
            "permission_missing",
            Severity.CRITICAL,
            f"queue {one.queue}",
            f"this key or identity may not do {', '.join(one.denied)} there",
            "Give it the role Storage Queue Data Contributor, or a signature with these rights",
        )
        for one in looked
        if one.denied
    ]
    return Examination(
        id="queue_rights", area=Area.ACCESS, title="rights on queues", seen="peek, update and delete were tried",
        findings=tuple(findings),
    )  # fmt: skip
