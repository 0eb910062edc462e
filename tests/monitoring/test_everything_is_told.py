"""Everything that Tenure can do, done once: all that comes of it is described, and all that is described comes.

Events with their fields, metrics, and labels with their values. What is done: `stories.py`.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from tests.monitoring.stories import everything_told

from tenure.event import Event, EventKind
from tenure.monitoring.catalogue import EVENTS, LABELS, METRICS, EventSpec, FieldType, MetricKind
from tenure.monitoring.catalogue.events import ENVELOPE

SPECS = {spec.name: spec for spec in EVENTS}
_TYPES: dict[FieldType, tuple[type, ...]] = {
    FieldType.STRING: (str,), FieldType.NUMBER: (int, float), FieldType.INTEGER: (int,), FieldType.BOOLEAN: (bool,),
    FieldType.LIST: (list, tuple), FieldType.OBJECT: (dict,),
}  # fmt: skip
_SAMPLE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>.*)\})? \S+")
#: Exported by the parent of `--processes` alone: tests/runtime/test_process_metrics.py.
_OF_A_PARENT = {"tenure_process_deaths_total"}

#: Values of labels that the stories do not reach. `delivered` needs a receiver: tests/runtime/test_deliveries.py.
_NOT_REACHED = {"tier": {"running"}, "result": {"unknown", "delivered", "postponed", "given_up"}}


def test_all_that_is_emitted_is_described_and_all_that_is_described_is_emitted() -> None:
    seen: dict[str, set[str]] = {}
    for event in everything_told().events:
        _check(event)
        seen.setdefault(event.kind.value, set()).update(event.data)
    described = {spec.name: {field.name for field in spec.fields} for spec in EVENTS}
    assert seen == described


def test_all_metrics_that_are_exported_are_described_and_all_that_are_described_are_exported() -> None:
    seen = {name: set(labels) for name, labels in _exported().items()}
    described = {spec.name: set(spec.labels) for spec in METRICS if spec.name not in _OF_A_PARENT}
    assert seen == described


def test_labels_have_the_values_that_are_described_and_no_others() -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    for labels in _exported().values():
        for label, values in labels.items():
            seen[label] |= values
    assert seen.keys() == {spec.name for spec in LABELS}
    unseen = {spec.name: set(spec.values) - seen[spec.name] for spec in LABELS if spec.values}
    assert {name: values for name, values in unseen.items() if values} == _NOT_REACHED
    assert all(seen[spec.name] <= set(spec.values) for spec in LABELS if spec.values)


def _exported() -> Mapping[str, Mapping[str, set[str]]]:
    """Each metric of all scrapes, with its labels and their values."""
    histograms = {spec.name for spec in METRICS if spec.kind is MetricKind.HISTOGRAM}
    found: dict[str, dict[str, set[str]]] = {}
    for line in "\n".join(everything_told().scrapes).splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample is None:
            assert line.startswith("#") or not line, line
            continue
        base = re.sub(r"_(?:bucket|sum|count)$", "", sample["name"])
        labels = found.setdefault(base if base in histograms else sample["name"], {})
        for label, value in re.findall(r'(\w+)="([^"]*)"', sample["labels"] or ""):
            if label != "le":
                labels.setdefault(label, set()).add(value)
    return found


def test_every_kind_of_event_is_described_once() -> None:
    assert [spec.name for spec in EVENTS if [one.name for one in EVENTS].count(spec.name) > 1] == []
    assert SPECS.keys() == {kind.value for kind in EventKind}


def _check(event: Event) -> None:
    spec = SPECS[event.kind.value]
    known = {field.name: field for field in spec.fields}
    assert event.data.keys() <= known.keys(), f"{spec.name}: {event.data}"
    for name, field in known.items():
        assert field.is_optional or name in event.data, f"{spec.name} has no {name}: {event.data}"
        value = event.data.get(name)
        assert value is None or isinstance(value, _TYPES[field.type]), f"{spec.name}.{name} is {value!r}"
        assert value is None or field.type is FieldType.BOOLEAN or not isinstance(value, bool), f"{spec.name}.{name}"
    _check_envelope(event, spec)


def _check_envelope(event: Event, spec: EventSpec) -> None:
    for field in ENVELOPE:
        value = getattr(event, field.name)
        assert field.is_optional or value is not None
        assert value is None or isinstance(value, _TYPES[field.type]), f"{spec.name}.{field.name} is {value!r}"
