"""What goes wrong with documents, the index and endpoints: a stable code and a sentence that says what to do.

`DocumentUnreadable` is a `Reject`: the message of that document is a dead letter at once, since no retry can fix a
file. An `EndpointError` becomes a `Snooze`, a `Retry` or a `Reject` in a handler (`failing.py`).
"""

from enum import StrEnum

from tenure import ConfigurationError, Reject, TenureError


class DocumentUnreadable(Reject):
    """A file that is not what its name says, is encrypted, damaged, too large, or grows without end when it is read."""

    code = "document_unreadable"


class DocumentMissing(Reject):
    """There is no document of that name, or it is outside the document set."""

    code = "document_missing"


class IndexMismatch(ConfigurationError):
    """The index was made by another embedder, so that its vectors cannot be compared."""

    code = "index_mismatch"


class IndexUnavailable(TenureError):
    """The index, or the place of the documents, cannot be reached, or refused the call."""

    code = "index_unavailable"


class Trouble(StrEnum):
    """What is wrong with an endpoint."""

    #: It asks to come back later (429).
    BUSY = "busy"
    #: It does not answer, or with an error of its own: another attempt may succeed.
    AWAY = "away"
    #: It refuses this request, or answers with something else than was asked for: every attempt would fail.
    WRONG = "wrong"


class EndpointError(TenureError):
    """An endpoint for models did not answer as it should."""

    code = "endpoint_error"

    def __init__(self, message: str, trouble: Trouble, after: float | None = None) -> None:
        """Say what is wrong, and in how many seconds to come back where the endpoint said so."""
        super().__init__(message)
        #: What is wrong.
        self.trouble = trouble
        #: Seconds until another request may succeed. None: not said.
        self.after = after
