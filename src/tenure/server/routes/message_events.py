"""The events of one message, for those who wait for it: with a token, or with a watch link in a browser."""

import msgspec
from starlette.responses import Response

from tenure.errors import MessageNotFound
from tenure.server.errors import TooManyStreams, WatchLinkInvalid
from tenure.server.events.message_response import MessageStreamResponse
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Route

#: Ours are shorter.
_LONGEST_ID = 64


class LinkQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How the request is let in."""

    #: A watch link's text (`handle.watch_url`), instead of a token: it opens this message alone.
    watch: str | None = None


async def follow_message(ask: Ask[LinkQuery, None]) -> Response:
    """Follow one message until it has ended."""
    after = ask.request.headers.get("last-event-id", "").strip()[:_LONGEST_ID]
    return MessageStreamResponse(
        ask.server, ask.principal, ask.request, ask.operate.access, ask.path["id"], ask.grant, after
    )


ROUTES = (
    Route(
        method="GET", path="/messages/{id}/events", scope=AccessScope.READ, handler=follow_message, query=LinkQuery,
        summary="Follow a message until it has ended", is_linked=True,
        description=(
            "Server-Sent Events: `update` with where the message is, at once and after each change, `attempt_ended` "
            "for each attempt that failed, and at last `ended`, an update after which the stream ends. A client that "
            "comes back with `Last-Event-ID` gets the attempts that ended meanwhile, and where the message is now; one "
            "that has the ending gets 204. Texts of errors and the result need the scope `payload`, or a link that "
            "shows them. All viewers share one reading of the store."
        ),
        errors=(MessageNotFound, TooManyStreams, WatchLinkInvalid),
        headers={"Last-Event-ID": "Where the client was."},
        also={204: "The client has everything: an `EventSource` stops."}, media_type="text/event-stream",
    ),
)  # fmt: skip
