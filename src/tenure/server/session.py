"""Sessions: a browser that has shown an access token once, and from then on sends a cookie.

The cookie names the token and is signed with the server's secret; the token's own secret is not in it. It lasts as long
as the token, at most 30 days, and a revoked token ends it within 5 s. It is `HttpOnly` and `SameSite=Strict`; what
changes something must also come from a page of the server itself (`guard/origin.py`), or carry `X-Tenure-Request`,
which no other page can add.
"""

from starlette.requests import Request

from tenure.app import Tenure
from tenure.client.signing import Signing
from tenure.server.errors import CrossOrigin
from tenure.server.guard.origin import is_same_origin
from tenure.server.principal import Principal
from tenure.server.token import AccessToken
from tenure.server.tokens import Tokens

LONGEST_SECONDS = 30 * 86_400
CSRF_HEADER = "x-tenure-request"
_PURPOSE = "session"
_SAFE = ("GET", "HEAD")


def cookie_name(request: Request) -> str:
    """The name has the port, because all ports of a host share cookies: two servers keep their sessions apart."""
    port = request.url.port
    return "tenure_session" if port is None else f"tenure_session_{port}"


class Sessions:
    """The sessions of one app."""

    def __init__(self, app: Tenure, tokens: Tokens, signing: Signing, base_path: str) -> None:
        """Signed by `signing`. `base_path`: where browsers find the server."""
        self._app = app
        self._tokens = tokens
        self._signing = signing
        self._base_path = base_path

    async def new_cookie(self, request: Request, token: AccessToken) -> str:
        """The `Set-Cookie` header of a new session."""
        now = self._app.state.wall()
        expires = now + LONGEST_SECONDS if token.expires_at is None else min(token.expires_at, now + LONGEST_SECONDS)
        said = f"{token.id}.{int(expires)}"
        return self._cookie(
            request, f"{said}.{await self._signing.sign(_PURPOSE, said)}", max_age=max(0, int(expires - now))
        )

    def old_cookie(self, request: Request) -> str:
        """The `Set-Cookie` header that ends a session in the browser."""
        return self._cookie(request, "", max_age=0)

    async def principal_of(self, request: Request) -> Principal | None:
        """The principal of a request's session. None: it has none that is valid. Raises `CrossOrigin`."""
        value = request.cookies.get(cookie_name(request))
        if not value:
            return None
        said, _, signature = value.rpartition(".")
        id, _, expires = said.partition(".")
        if not await self._signing.is_signed(_PURPOSE, said, signature):
            return None
        # A signed time is a whole number; what is signed was written here.
        if int(expires) <= self._app.state.wall():
            return None
        token = await self._tokens.of_session(id)
        if token is None:
            return None
        if request.method not in _SAFE and not (is_same_origin(request.scope) or CSRF_HEADER in request.headers):
            msg = "a session changes something only from a page of this server; programs send X-Tenure-Request too"
            raise CrossOrigin(msg)
        return token.principal

    def _cookie(self, request: Request, value: str, *, max_age: int) -> str:
        path = self._base_path or request.scope.get("root_path", "") or "/"
        secure = "; Secure" if request.url.scheme == "https" else ""
        return f"{cookie_name(request)}={value}; Path={path}; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}"
