"""Access tokens of the server: those that are about to end, never end, may do everything, or are not used.

What the server keeps of a token is read here in part (`server/token.py`); its secret is not there to be read.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tenure.client.operations.doctor.facts import Facts
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.text.plural import plural

_KIND = "token"
_DAY = 86_400.0
#: A token that ends so soon should be replaced now.
SOON_SECONDS = 7 * _DAY
#: A token that was not used for so long is one too many.
UNUSED_SECONDS = 90 * _DAY


class _Token(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    scopes: tuple[str, ...]
    queues: tuple[str, ...] = ("*",)
    created_at: float
    expires_at: float | None = None
    used_at: float | None = None


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    token: _Token
    namespace: str | None = None


async def examine(facts: Facts) -> Sequence[Examination]:
    """Judge every token of this app. Nothing for a caller who sees some queues only."""
    access = facts.access
    if not access.sees_every_queue:
        return []
    tokens = [kept.token for one in await access.state.key_values.list(_KIND) if (kept := _read(one.data)) is not None
              and kept.namespace == access.namespace]  # fmt: skip
    now = access.state.wall()
    findings = tuple(finding for one in tokens for finding in _findings(one, now))
    seen = plural(len(tokens), "token") if tokens else "none was made: only programs on this machine are let in"
    return [Examination(id="tokens", area=Area.ACCESS, title="access tokens", seen=seen, findings=findings)]


def _read(data: bytes) -> _Kept | None:
    try:
        return msgspec.json.decode(data, type=_Kept)
    except msgspec.MsgspecError:
        return None  # a newer Tenure wrote it


def _findings(one: _Token, now: float) -> Iterator[Finding]:
    subject = f"token {one.name} ({one.id})"
    replace = f"Make another (tenure token create), and revoke this one: tenure token revoke {one.id}"
    if one.expires_at is None:
        evidence = "it never expires: anyone who finds it in a log or a backup can use it for good"
        yield Finding("token_never_expires", Severity.WARNING, subject, evidence, replace)
    elif one.expires_at - now < SOON_SECONDS:
        evidence = f"it expires in {max(0.0, one.expires_at - now) / _DAY:.1f} days; then its holder is refused"
        yield Finding("token_expiring", Severity.WARNING, subject, evidence, replace)
    if {"admin", "operate", "payload"} <= set(one.scopes) and "*" in one.queues:
        evidence = f"it may do everything to every queue ({', '.join(one.scopes)})"
        remedy = "Give each program a token with the scopes and queues that it needs, and revoke this one"
        yield Finding("token_all_powerful", Severity.WARNING, subject, evidence, remedy)
    if now - (one.used_at or one.created_at) > UNUSED_SECONDS:
        evidence = f"it was not used for {(now - (one.used_at or one.created_at)) / _DAY:,.0f} days"
        yield Finding("token_unused", Severity.INFO, subject, evidence, f"Revoke it: tenure token revoke {one.id}")
