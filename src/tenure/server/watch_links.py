"""Watch links at the server: what a request with one may do, and from which pages.

A link opens the status and the events of one message, and nothing else; its text is in the query, `?watch=…`, because
an `EventSource` cannot send headers. Pages of origins that `TENURE_SERVER_ORIGINS` names may use links, and only links.

Used by `dispatch.py`, which asks who may, and by `guard/origin.py` and `guard/cross_origin.py`.
"""

from urllib.parse import parse_qs, unquote

from starlette.types import Scope

from tenure.app import Tenure
from tenure.client.signing import Signing
from tenure.client.watch_link import WatchGrant, grant_of
from tenure.server.errors import WatchLinkInvalid
from tenure.server.guard.request_path import segments_of
from tenure.server.principal import ANY_QUEUE, AccessScope, Principal

#: The parameter of the query.
WATCH = "watch"
#: Streams of all links share the slots of one principal.
NAME = "watch link"
_MESSAGES = ["api", "v1", "messages"]
_OPENED = ("events", "status")


class WatchLinks:
    """Reads the links of one app."""

    def __init__(self, app: Tenure, signing: Signing) -> None:
        """Accept what `signing` accepts."""
        self._app = app
        self._signing = signing

    async def grant(self, token: str, id: str) -> WatchGrant:
        """What a link opens, if that is this message. Raises `WatchLinkInvalid`."""
        grant = await grant_of(self._signing, token)
        if grant is None:
            msg = "this watch link was not made by this installation, or was changed on its way"
            raise WatchLinkInvalid(msg)
        if not self.is_valid(grant):
            msg = "this watch link has expired; ask the page that gave it for a new one"
            raise WatchLinkInvalid(msg)
        own = "" if self._app.namespace is None else f"{self._app.namespace}/"
        if grant.id not in (id, f"{own}{id}"):
            msg = "this watch link is of another message"
            raise WatchLinkInvalid(msg)
        return grant

    def is_valid(self, grant: WatchGrant) -> bool:
        """Whether it has not expired."""
        return self._app.state.wall() < grant.expires_at


def principal_of(grant: WatchGrant) -> Principal:
    """Who asks with a link: a reader without a name."""
    scopes = {AccessScope.READ, AccessScope.PAYLOAD} if grant.shows_result else {AccessScope.READ}
    return Principal(NAME, frozenset(scopes), ANY_QUEUE)


def token_in(scope: Scope) -> str | None:
    """The text of a link in the query of a request. None: there is none."""
    query = scope.get("query_string", b"")
    if WATCH.encode() not in query:
        return None
    found = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(WATCH)
    return None if found is None else found[0]


def may_be_linked(scope: Scope) -> bool:
    """Whether a request asks, with a link, for what links open."""
    *before, _, what = segments_of(scope) if segments_of(scope)[2:] else ["", "", ""]
    return before == _MESSAGES and unquote(what) in _OPENED and token_in(scope) is not None
