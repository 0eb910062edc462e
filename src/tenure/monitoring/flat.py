"""An event as one flat record: in our names, or in those that existing queries use.

    {"event": "heartbeat_stats", "schema": 1, "message_id": "…", "extension_count": 5, …}           ours
    {"event_type": "heartbeat_stats", "job_id": "…", "extension_count": 5, …}                       cloudwatch
    {"event": "message_processed", "message_id": "…", "duration_ms": 1250.0, …}                     app_insights

One fact is one event; this only writes it differently. In another vocabulary an event without an alias there is left
out. Before: a sink. The names: `catalogue/aliases.py`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.event import Event
from tenure.monitoring.catalogue.aliases import EVENT_ALIASES
from tenure.monitoring.catalogue.events import EVENTS
from tenure.monitoring.catalogue.spec import Alias, Vocabulary

#: The field that has the event's name.
NAME_FIELDS: Mapping[Vocabulary | None, str] = {
    None: "event",
    Vocabulary.APP_INSIGHTS: "event",
    Vocabulary.CLOUDWATCH: "event_type",
}
_SCHEMAS = {spec.name: spec.schema for spec in EVENTS}
_FIELDS = ("queue", "task", "message_id", "owner", "attempt", "seconds")


def records(event: Event, vocabulary: Vocabulary | None = None) -> list[dict[str, Any]]:
    """The event as flat records. None: one, in our names. Else one for each alias that fits; there may be none."""
    own = _flat(event)
    if vocabulary is None:
        return [{"event": event.kind.value, "schema": _SCHEMAS.get(event.kind.value, 1), **own}]
    return [
        record
        for alias in _BY_KIND.get((vocabulary, event.kind.value), ())
        if _fits(alias, own)
        for record in _renamed(alias, own, NAME_FIELDS[vocabulary])
    ]


def _flat(event: Event) -> dict[str, Any]:
    """The fields of the event, then those of its data, which may say `seconds` in a sense of their own."""
    values = ((name, getattr(event, name)) for name in _FIELDS)
    data: dict[str, Any] = msgspec.to_builtins(event.data)
    return {name: value for name, value in values if value is not None} | data


def _fits(alias: Alias, own: Mapping[str, Any]) -> bool:
    return all(own.get(name) in values for name, values in alias.when.items())


def _renamed(alias: Alias, own: Mapping[str, Any], name_field: str) -> list[dict[str, Any]]:
    theirs: dict[str, Any] = {}
    for field in alias.fields:
        if field.of in own:
            value = own[field.of]
            scaled = isinstance(value, int | float) and field.scale is not None
            theirs[field.name] = round(value * field.scale, 3) if scaled else _worded(value, field.values)
    renamed = {field.of for field in alias.fields}
    record = {name_field: alias.name, **theirs, **{name: value for name, value in own.items() if name not in renamed}}
    if alias.each is None:
        return [record]
    many, one = alias.each
    values = record.pop(many, None) or []
    return [{**record, one: value} for value in values]


def _worded(value: Any, words: Mapping[Any, Any]) -> Any:
    return words.get(value, value) if isinstance(value, str | bool) else value


def _by_kind() -> dict[tuple[Vocabulary, str], list[Alias]]:
    found: dict[tuple[Vocabulary, str], list[Alias]] = {}
    for alias in EVENT_ALIASES:
        found.setdefault((alias.vocabulary, alias.of), []).append(alias)
    return found


_BY_KIND = _by_kind()
