"""Events as custom events: log records that carry their name in `microsoft.custom_event.name`.

The table `customEvents` gets a row for each, with the event's fields in `customDimensions`. Values are text there, so
queries convert them: `toreal(customDimensions.duration_ms)`. A list or an object is written as JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

from tenure.errors import ConfigurationError
from tenure.event import Event
from tenure.monitoring.catalogue.spec import Vocabulary
from tenure.monitoring.flat import NAME_FIELDS, records

_NAME = "microsoft.custom_event.name"
_NAMES = {"app_insights": Vocabulary.APP_INSIGHTS, "tenure": None}


class CustomEvents:
    """A sink: each event is a custom event."""

    def __init__(self, names: str = "app_insights", logger_provider: Any = None) -> None:
        """Under these names. In other names than ours, events without such a name are left out."""
        if names not in _NAMES:
            msg = f"names={names!r} is not known; there are: {', '.join(_NAMES)}"
            raise ConfigurationError(msg)
        self._vocabulary = _NAMES[names]
        self._name_field = NAME_FIELDS[self._vocabulary]
        self._logger = get_logger("tenure.events", logger_provider=logger_provider)

    def publish(self, events: Sequence[Event]) -> None:
        """Hand the events to the SDK, which sends them in batches from a thread of its own."""
        for event in events:
            for record in records(event, self._vocabulary):
                self._logger.emit(
                    LogRecord(
                        timestamp=round(event.at * 1e9),
                        severity_number=SeverityNumber.INFO,
                        body=str(record[self._name_field]),
                        attributes=self._attributes(record),
                    )
                )

    def _attributes(self, record: Mapping[str, Any]) -> dict[str, Any]:
        fields = {name: _plain(value) for name, value in record.items() if value is not None}
        return {**fields, _NAME: str(record[self._name_field])}


def _plain(value: object) -> str | bool | float:
    return value if isinstance(value, str | bool | int | float) else msgspec.json.encode(value).decode()
