"""HTTP counts: the requests of one process, by route, method and status, with how long they took.

A route is its pattern, and what has none is `other`, so clients cannot make labels. Streams and long polls are counted
and have no duration: they last as long as their client waits.
"""

from collections import Counter
from http import HTTPStatus

from tenure.monitoring.catalogue.labels import OTHER
from tenure.monitoring.metrics.sample import Sample, SampleSet, Times
from tenure.server.guard.request_log import RequestNote

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})


class HttpCounts:
    """The requests of one server."""

    def __init__(self) -> None:
        """Start with zero counts."""
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, Times] = {}
        self._refusals: Counter[str] = Counter()

    def note(self, method: str, note: RequestNote, seconds: float) -> None:
        """Count a request that has ended."""
        route = note.route or OTHER
        self._requests[method if method in _METHODS else OTHER, route, note.status] += 1
        if not note.waits:
            self._durations.setdefault(route, Times()).note(seconds)
        if note.code and note.status >= HTTPStatus.BAD_REQUEST:
            self._refusals[note.code] += 1

    def samples(self) -> list[Sample]:
        """All of it."""
        found = SampleSet()
        for (method, route, status), number in self._requests.items():
            found.add("tenure_http_requests_total", number, method, route, str(status) if status else "none")
        for route, times in self._durations.items():
            found.add_times("tenure_http_request_duration_seconds", times.buckets, times.seconds, route)
        for code, number in self._refusals.items():
            found.add("tenure_http_refusals_total", number, code)
        return found.samples()
