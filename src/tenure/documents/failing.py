"""What a handler makes of a failure: come back later, try again, or give up. Used around every task."""

from collections.abc import Iterator
from contextlib import contextmanager

from tenure import Reject, Retry, Snooze
from tenure.documents.errors import DocumentMissing, EndpointError, IndexMismatch, IndexUnavailable, Trouble
from tenure.errors import BadArgument, BadURL, MissingExtra

#: Where a busy endpoint does not say when it takes calls again.
_BUSY_SECONDS = 15.0
_LONGEST_SECONDS = 3_600.0


@contextmanager
def verdicts() -> Iterator[None]:
    """Turn failures of the parts below a handler into its verdicts."""
    try:
        yield
    except EndpointError as error:
        after = None if error.after is None else min(error.after, _LONGEST_SECONDS)
        match error.trouble:
            case Trouble.BUSY:
                raise Snooze(_BUSY_SECONDS if after is None else after, str(error)) from error
            case Trouble.AWAY:
                raise Retry(after, str(error)) from error
            case Trouble.WRONG:
                raise Reject(str(error)) from error
    except BadArgument as error:
        raise DocumentMissing(str(error)) from error
    except IndexUnavailable as error:
        raise Retry(reason=str(error)) from error
    except (IndexMismatch, MissingExtra, BadURL) as error:
        # A worker that is set up otherwise may do it after a redrive.
        raise Reject(str(error)) from error
