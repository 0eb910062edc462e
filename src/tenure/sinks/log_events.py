"""Events as log records: flat JSON for machines that read logs, one record for each event.

The record's fields are attributes of it, as `logging`'s `extra` makes them, so every formatter for JSON shows them:
that of `tenure worker --log json`, structlog's, or one that ships logs. `names` writes them as existing queries expect
them; in Application Insights each record becomes a custom event.

Installed by `TENURE_LOG_EVENTS`, `tenure worker --log-events`, or `app.worker(sinks=[LogEvents()])`.
"""

import logging
from collections.abc import Sequence
from typing import Any, Literal, cast

from tenure.errors import ConfigurationError
from tenure.event import Event
from tenure.monitoring.catalogue.spec import Vocabulary
from tenure.monitoring.flat import NAME_FIELDS, records

logger = logging.getLogger("tenure.events")

#: Names as the catalogue has them.
OWN = "tenure"
#: What `names` may be.
NAMES = (OWN, *(one.value for one in Vocabulary))
#: What Azure's exporter for logs takes as the name of a custom event.
_CUSTOM_EVENT = "microsoft.custom_event.name"
#: The attribute of a record that has all fields of the event.
FIELDS = "event_fields"
#: What a line for people does not repeat.
_NAMED = ("event", "event_type", "schema", "task", "message_id", "job_id")


EventNames = Literal["tenure", "cloudwatch", "app_insights"]


def event_names(text: str) -> EventNames:
    """The names, if they are some; raises `ConfigurationError`."""
    if text not in NAMES:
        msg = f"names={text!r} is not known; there are: {', '.join(NAMES)}"
        raise ConfigurationError(msg)
    return cast("EventNames", text)


class LogEvents:
    """A sink that logs each event, at INFO, as `tenure.events`."""

    def __init__(self, names: EventNames = "tenure") -> None:
        """Log under these names. In other names than ours, events without such a name are left out."""
        self._vocabulary = None if event_names(names) == OWN else Vocabulary(names)
        self._name_field = NAME_FIELDS[self._vocabulary]

    def publish(self, events: Sequence[Event]) -> None:
        """Log the events."""
        if not logger.isEnabledFor(logging.INFO):
            return
        for event in events:
            for record in records(event, self._vocabulary):
                self._log(record, event.at)

    def _log(self, fields: dict[str, Any], at: float) -> None:
        name = fields[self._name_field]
        extra = {**fields, FIELDS: fields}
        if self._vocabulary is Vocabulary.APP_INSIGHTS:
            extra[_CUSTOM_EVENT] = name
        record = logger.makeRecord(
            logger.name, logging.INFO, __file__, 0, "%s", (_line(str(name), fields),), None, "publish", extra
        )
        record.created, record.msecs = at, (at % 1.0) * 1000
        logger.handle(record)


def _line(name: str, fields: dict[str, Any]) -> str:
    """The event for people: its name, what it is about, and its other fields."""
    about = [str(fields[one]) for one in ("task", "message_id", "job_id") if fields.get(one)]
    others = [f"{field}={value}" for field, value in fields.items() if field not in _NAMED]
    return " ".join([name, *about, *others])
