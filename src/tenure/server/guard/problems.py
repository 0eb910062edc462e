"""Every error becomes a problem document; no traceback and no sentence of a library reaches a client."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.server.guard.request_log import note_of
from tenure.server.problem import respond_problem


class Problems:
    """Answers for whatever failed behind it."""

    def __init__(self, app: ASGIApp) -> None:
        """Around `app`."""
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
        except Exception as error:  # noqa: BLE001 - the last door: what passes it is a traceback
            response = respond_problem(error, note_of(scope).id)  # logs what must be known
            if has_begun:
                raise AnswerCutOff from None  # the web server closes the connection: half an answer must not look whole
            await response(scope, receive, send)


class AnswerCutOff(Exception):
    """An answer failed after it had begun; the reason was logged."""
