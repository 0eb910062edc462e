"""Authentication: who asks. The one place where a request becomes a principal.

In this order: an access token (`Authorization: Bearer tnr_…`), a browser's session (`session.py`), the hook of the
application, and, where no token was ever made, any program on this machine. What a principal may do is decided by
`dispatch.py`.
"""

import inspect
import ipaddress

from starlette.requests import Request

from tenure.app import Tenure
from tenure.server.errors import TooManyAttempts, Unauthenticated
from tenure.server.guard.proxy import came_through_proxy
from tenure.server.login_attempts import LoginAttempts
from tenure.server.options import ServerOptions
from tenure.server.principal import LOOPBACK, Principal
from tenure.server.session import Sessions
from tenure.server.token import AccessToken, id_in
from tenure.server.tokens import Tokens

_BEARER = "bearer "


class Authentication:
    """Finds the principal of a request."""

    def __init__(self, app: Tenure, tokens: Tokens, sessions: Sessions, options: ServerOptions) -> None:
        """Check credentials as `options` says."""
        self._tokens = tokens
        self._sessions = sessions
        self._options = options
        self._attempts = LoginAttempts(app.clock)

    async def identify(self, request: Request) -> Principal:
        """The principal of a request. Raises `Unauthenticated` or `TooManyAttempts`."""
        text = bearer_of(request)
        if text is not None and text.startswith("tnr_"):
            return (await self.check_token(text, source_of(request))).principal
        principal = await self._sessions.principal_of(request)
        if principal is None and self._options.authenticate is not None:
            principal = await self._ask_hook(request)
        if principal is None and await self._is_open_for(request):
            principal = LOOPBACK
        if principal is None:
            msg = "this needs an access token: send it as Authorization: Bearer tnr_…; tenure token create makes one"
            raise Unauthenticated(msg)
        return principal

    async def check_token(self, text: str, source: str) -> AccessToken:
        """The token of this text. Raises `Unauthenticated` or `TooManyAttempts`."""
        id = id_in(text)
        # A client with a valid token is not held up by another one behind the same address.
        if (id is None or not self._tokens.is_known(id)) and (seconds := self._attempts.wait_seconds(source)) > 0:
            msg = "too many requests with wrong credentials came from this address"
            raise TooManyAttempts(msg, retry_after=seconds)
        token = await self._tokens.check(text)
        if token is None:
            self._attempts.failed(source)
            msg = "this access token is not valid: it was revoked, has expired, or was mistyped"
            raise Unauthenticated(msg)
        return token

    async def is_still(self, principal: Principal, request: Request) -> bool:
        """Whether a request that goes on, such as a stream, would still be let in as the same principal."""
        try:
            return await self.identify(request) == principal
        except (Unauthenticated, TooManyAttempts):
            return False

    async def is_protected(self) -> bool:
        """Whether every client needs credentials, wherever it is."""
        return self._options.authenticate is not None or await self._tokens.are_required()

    async def _ask_hook(self, request: Request) -> Principal | None:
        hook = self._options.authenticate
        assert hook is not None  # noqa: S101 - asked before
        answer = hook(request)
        principal: object = await answer if inspect.isawaitable(answer) else answer
        if principal is not None and not isinstance(principal, Principal):
            msg = f"authenticate returned {type(principal).__name__}; it must return a Principal or None"
            raise TypeError(msg)
        return principal

    async def _is_open_for(self, request: Request) -> bool:
        """Whether a request without credentials is one of a program on this machine, and that is enough."""
        options = self._options
        if options.authenticate is not None or not is_loopback(request) or came_through_proxy(request.scope):
            return False
        return options.open_on_loopback or not await self._tokens.are_required()


def bearer_of(request: Request) -> str | None:
    """Return the token of `Authorization: Bearer`. None: there is no such header."""
    header = request.headers.get("authorization", "")
    return header[len(_BEARER) :].strip() if header[: len(_BEARER)].lower() == _BEARER else None


def source_of(request: Request) -> str:
    """The address from which a request came. Empty: it has none, as on a Unix socket."""
    return request.client.host if request.client is not None else ""


def is_loopback(request: Request) -> bool:
    """Whether the connection is one of this machine with itself."""
    server = request.scope.get("server")
    ends = (source_of(request), server[0] if server else "")
    return all(_is_loopback(end) for end in ends)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
