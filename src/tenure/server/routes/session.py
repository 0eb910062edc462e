"""The session of a browser: log in with an access token, who am I, log out."""

from importlib.metadata import version

import msgspec

from tenure.server.authentication import source_of
from tenure.server.errors import Unauthenticated
from tenure.server.principal import NOBODY, AccessScope, Principal
from tenure.server.route import Ask, Reply, Route
from tenure.url_options import safe_url

_EXAMPLE = {
    "name": "alice", "scopes": ["operate", "read"], "queues": ["*"], "read_only": False, "namespace": None,
    "version": "0.2.0", "store": "redis://queue-1:6379",
}  # fmt: skip


class Login(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a browser logs in with."""

    token: str


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what they may do."""

    name: str
    scopes: tuple[AccessScope, ...]
    #: Names and patterns of the queues that exist for them.
    queues: tuple[str, ...]
    #: Whether this server refuses every act.
    read_only: bool
    namespace: str | None = None
    #: Of the server.
    version: str = ""
    #: Where the messages are, without secrets. Empty for those who do not see every queue.
    store: str = ""


async def show_session(ask: Ask[None, None]) -> Reply:
    """Return the caller's name and rights."""
    if ask.principal == NOBODY:
        msg = "not logged in: POST /api/v1/session with a token, or send it as Authorization: Bearer tnr_…"
        raise Unauthenticated(msg)
    return Reply(value=_info(ask, ask.principal))


async def log_in(ask: Ask[None, Login]) -> Reply:
    """Turn a token into a cookie."""
    token = await ask.server.authentication.check_token(ask.body.token.strip(), source_of(ask.request))
    cookie = await ask.server.sessions.new_cookie(ask.request, token)
    return Reply(value=_info(ask, token.principal), headers={"Set-Cookie": cookie})


async def log_out(ask: Ask[None, None]) -> Reply:
    """Forget the cookie. The token stays valid."""
    return Reply(status=204, headers={"Set-Cookie": ask.server.sessions.old_cookie(ask.request)})


def _info(ask: Ask[None, None] | Ask[None, Login], principal: Principal) -> SessionInfo:
    return SessionInfo(
        name=principal.name,
        scopes=tuple(sorted(principal.scopes)),
        queues=principal.queues,
        read_only=ask.server.options.refuses_acts,
        namespace=ask.app.namespace,
        version=version("tenure"),
        store=safe_url(ask.app.url) if principal.sees_every_queue else "",
    )


ROUTES = (
    Route(
        method="GET", path="/session", scope=None, handler=show_session, answer=SessionInfo,
        summary="Show the caller and its rights", example=_EXAMPLE, errors=(Unauthenticated,),
    ),
    Route(
        method="POST", path="/session", scope=None, handler=log_in, body=Login, answer=SessionInfo,
        summary="Log in with an access token",
        description="Sets a cookie for browsers, which lasts as long as the token and at most 30 days.",
        body_example={"token": "tnr_4f2a90c1d3e7_" + "0" * 64}, example=_EXAMPLE, errors=(Unauthenticated,), acts=False,
    ),
    Route(
        method="DELETE", path="/session", scope=None, handler=log_out, status=204,
        summary="Log out", description="Ends the session in this browser. The token stays valid.", acts=False,
    ),
)  # fmt: skip
