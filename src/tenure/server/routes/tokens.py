"""Access tokens over HTTP: list, create, revoke. For those with the scope `admin` on every queue."""

import msgspec

from tenure.server.authentication import source_of
from tenure.server.errors import ForbiddenScope, TokenNotFound
from tenure.server.principal import ANY_QUEUE, AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.token import AccessToken, NewToken
from tenure.server.tokens import DEFAULT_EXPIRES_SECONDS

_TOKEN = {
    "id": "4f2a90c1d3e7", "name": "ci", "scopes": ["read", "send"], "queues": ["acme-*"], "created_at": 1767225600.0,
    "created_by": "alice@host", "expires_at": 1775001600.0, "used_at": None,
}  # fmt: skip


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to be made."""

    name: str
    scopes: tuple[AccessScope, ...]
    queues: tuple[str, ...] = ANY_QUEUE
    #: After this many seconds it is not valid any more. Null: it does not expire.
    expires_seconds: float | None = DEFAULT_EXPIRES_SECONDS


class TokenList(msgspec.Struct, frozen=True, kw_only=True):
    """Every token that has not expired, the newest first."""

    tokens: tuple[AccessToken, ...]


async def list_tokens(ask: Ask[None, None]) -> Reply:
    """List the access tokens."""
    _check_unbounded(ask)
    return Reply(value=TokenList(tokens=tuple(await ask.server.tokens.list())))


async def create_token(ask: Ask[None, TokenRequest]) -> Reply:
    """Create an access token."""
    _check_unbounded(ask)
    wanted, principal = ask.body, ask.principal
    if beyond := [scope.value for scope in wanted.scopes if not principal.may(scope)]:
        msg = f"a token cannot have more scopes than its maker: {principal.name} does not have {', '.join(beyond)}"
        raise ForbiddenScope(msg)
    made = await ask.server.tokens.create(
        wanted.name,
        wanted.scopes,
        wanted.queues,
        expires_seconds=wanted.expires_seconds,
        by=principal.name,
        triggered_by="http",
        source=source_of(ask.request),
    )
    return Reply(value=made, status=201, is_secret=True)


async def revoke_token(ask: Ask[None, None]) -> Reply:
    """Revoke an access token."""
    _check_unbounded(ask)
    by, source = ask.principal.name, source_of(ask.request)
    gone = await ask.server.tokens.revoke(ask.path["id"], by=by, triggered_by="http", source=source)
    return Reply(value=gone)


def _check_unbounded(ask: Ask[None, None] | Ask[None, TokenRequest]) -> None:
    """Tokens are not of a queue: who is bound to some queues could give themselves all the others."""
    if not ask.principal.sees_every_queue:
        msg = f"{ask.principal.name} is bound to some queues; tokens are made and revoked by those who see all of them"
        raise ForbiddenScope(msg)


ROUTES = (
    Route(
        method="GET", path="/tokens", scope=AccessScope.ADMIN, handler=list_tokens, answer=TokenList,
        summary="List access tokens", description="Without their secrets, which are kept nowhere.",
        example={"tokens": [_TOKEN]},
    ),
    Route(
        method="POST", path="/tokens", scope=AccessScope.ADMIN, handler=create_token, body=TokenRequest,
        answer=NewToken, status=201, summary="Create an access token",
        description="The token is in this answer and nowhere else. A token can have only the scopes of its maker.",
        body_example={"name": "ci", "scopes": ["send", "read"], "queues": ["acme-*"], "expires_seconds": 7776000},
        example={**_TOKEN, "token": "tnr_4f2a90c1d3e7_" + "0" * 64},
    ),
    Route(
        method="DELETE", path="/tokens/{id}", scope=AccessScope.ADMIN, handler=revoke_token, answer=AccessToken,
        summary="Revoke an access token", description="Every server refuses it within 5 s.",
        example=_TOKEN, errors=(TokenNotFound,),
    ),
)  # fmt: skip
