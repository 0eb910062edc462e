"""The cost of a simulation's calls: requests to the queue, and writes to the state beside it.

Data from `prices.py`, or two figures of one's own. Used by the table and the plots.
"""

import msgspec

from tenure.errors import BadArgument
from tenure.simulation.prices import AS_OF, DYNAMO_WRITE, SQS_FIFO_REQUEST, SQS_REQUEST, Price
from tenure.simulation.result import Result

_MILLION = 1_000_000


class Pricing(msgspec.Struct, frozen=True):
    """Prices in dollars for a million requests and a million writes."""

    requests: float
    writes: float
    #: Where the figures come from.
    source: str

    def dollars_a_million(self, result: Result) -> float | None:
        """Return the cost of a million messages under this policy. None: it was interrupted."""
        requests, writes = result.requests_a_message, result.writes_a_message
        return None if requests is None or writes is None else requests * self.requests + writes * self.writes


def _of(request: Price) -> Pricing:
    source = f"list prices as of {AS_OF}: a request {request.note}; a state write in DynamoDB, {DYNAMO_WRITE.note}"
    return Pricing(_a_million(request), _a_million(DYNAMO_WRITE), source)


def _a_million(price: Price) -> float:
    return price.dollars * _MILLION / price.per


KNOWN = {"sqs": _of(SQS_REQUEST), "sqs-fifo": _of(SQS_FIFO_REQUEST)}


def pricing_of(text: str) -> Pricing:
    """Parse `sqs`, `sqs-fifo`, or `REQUESTS:WRITES` in dollars a million. Raises `BadArgument`."""
    if text in KNOWN:
        return KNOWN[text]
    requests, _, writes = text.partition(":")
    try:
        figures = float(requests), float(writes)
    except ValueError:
        figures = -1.0, -1.0
    if not all(0.0 <= figure < _MILLION for figure in figures):
        msg = f"{text!r} is not a price; write {', '.join(KNOWN)}, or REQUESTS:WRITES in dollars a million, as 0.40:0"
        raise BadArgument(f"{msg}; nothing was simulated")
    return Pricing(*figures, f"{figures[0]:g} dollars a million requests, {figures[1]:g} a million state writes")
