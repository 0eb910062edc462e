"""Sessions: a browser that has shown an access token once, and from then on sends a cookie.

The cookie names the token and is signed with the server's secret; the token's own secret is not in it. It lasts as long
as the token, at most 30 days, and a revoked token ends it within 5 s. It is `HttpOnly` and `SameSite=Strict`; what
changes something must also come from a page of the server itself (`guard/origin.py`), or carry `X-Tenure-Request`,
which no other page can add.
"""

import base64
import hashlib
import hmac

from starlette.requests import Request

from tenure.server.errors import CrossOrigin
from tenure.server.guard.origin import is_same_origin
from tenure.server.principal import Principal
from tenure.server.server import Server
from tenure.server.token import AccessToken

LONGEST_SECONDS = 30 * 86_400
CSRF_HEADER = "x-tenure-request"
_PURPOSE = "session"
_SAFE = ("GET", "HEAD")


def cookie_name(request: Request) -> str:
    """Cookies do not tell ports apart, so the name does: two servers on one machine keep their sessions apart."""
    port = request.url.port
    return "tenure_session" if port is None else f"tenure_session_{port}"


async def new_cookie(request: Request, server: Server, token: AccessToken) -> str:
    """The `Set-Cookie` header of a new session."""
    now = server.app.state.wall()
    expires = now + LONGEST_SECONDS if token.expires_at is None else min(token.expires_at, now + LONGEST_SECONDS)
    said = f"{token.id}.{int(expires)}"
    value = f"{said}.{await _signature(server, said)}"
    return _cookie(request, server, value, max_age=max(0, int(expires - now)))


def old_cookie(request: Request, server: Server) -> str:
    """The `Set-Cookie` header that ends a session in the browser."""
    return _cookie(request, server, "", max_age=0)


def has_cookie(request: Request) -> bool:
    """Whether the request comes with a session, valid or not."""
    return cookie_name(request) in request.cookies


async def session_of(request: Request, server: Server) -> Principal | None:
    """The principal of a request's session. None: it has none that is valid. Raises `CrossOrigin`."""
    value = request.cookies.get(cookie_name(request))
    if not value:
        return None
    said, _, signature = value.rpartition(".")
    id, _, expires = said.partition(".")
    if not hmac.compare_digest(signature.encode(), (await _signature(server, said)).encode()):
        return None
    if not expires.isdigit() or int(expires) <= server.app.state.wall():
        return None
    token = await server.tokens.of_session(id)
    if token is None:
        return None
    if request.method not in _SAFE and not (is_same_origin(request.scope) or CSRF_HEADER in request.headers):
        msg = "a session changes something only from a page of this server; programs send the header X-Tenure-Request"
        raise CrossOrigin(msg)
    return token.principal


async def _signature(server: Server, said: str) -> str:
    digest = hmac.digest(await server.secret.key(_PURPOSE), said.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _cookie(request: Request, server: Server, value: str, *, max_age: int) -> str:
    path = server.options.base_path or request.scope.get("root_path", "") or "/"
    secure = "; Secure" if request.url.scheme == "https" else ""
    return f"{cookie_name(request)}={value}; Path={path}; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}"
