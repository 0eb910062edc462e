"""Sinks that come with Tenure: where a worker's events go besides the journal.

    log_events    each event as a log record

For `app.worker(sinks=[…])`; a sink of your own is any object with `def publish(self, events)`.
"""

from tenure.sinks.log_events import LogEvents

__all__ = ["LogEvents"]
