"""Every error becomes a problem document; no traceback and no sentence of a library reaches a client."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.errors import TenureError
from tenure.server.guard.request_log import note_of
from tenure.server.problem import respond_problem


class Problems:
    """Answers for errors of the applications behind it."""

    def __init__(self, app: ASGIApp) -> None:
        """Answer for errors of `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - the last handler: what passes it is a traceback
            note = note_of(scope)
            note.code = error.code if isinstance(error, TenureError) else "internal"
            response = respond_problem(error, note.id)  # logs what must be known
            if has_begun:
                raise AnswerCutOff from None  # the web server closes the connection: half an answer must not look whole
            await response(scope, receive, send)


class AnswerCutOff(Exception):
    """An answer failed after it had begun; the reason was logged."""
