"""The rules of the embedded metric format, as its specification has them; a line that breaks one is no metric."""

import json
from collections.abc import Mapping
from typing import Any

UNITS = frozenset({
    "Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes", "Bits",
    "Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count", "Bytes/Second", "Kilobytes/Second",
    "Megabytes/Second", "Gigabytes/Second", "Terabytes/Second", "Bits/Second", "Kilobits/Second", "Megabits/Second",
    "Gigabits/Second", "Terabits/Second", "Count/Second", "None",
})  # fmt: skip
_MOST_BYTES = 1024 * 1024

#: What a metric is known by: its name and its dimensions.
Key = tuple[str, tuple[tuple[str, str], ...]]


def read(line: bytes | str) -> dict[Key, float]:
    """The metrics that CloudWatch would make of a line. Raises `AssertionError` where it would make none."""
    text = line.encode() if isinstance(line, str) else line
    assert len(text) <= _MOST_BYTES
    document: Mapping[str, Any] = json.loads(text)
    meta = document["_aws"]
    assert set(meta) <= {"Timestamp", "CloudWatchMetrics", "LogGroupName"}
    assert isinstance(meta["Timestamp"], int)
    assert 1_600_000_000_000 < meta["Timestamp"] < 4_000_000_000_000, "milliseconds"
    found: dict[Key, float] = {}
    for directive in meta["CloudWatchMetrics"]:
        assert set(directive) <= {"Namespace", "Dimensions", "Metrics"}
        assert 1 <= len(directive["Namespace"]) <= 255
        assert len(directive["Metrics"]) <= 100
        for dimensions in directive["Dimensions"]:
            assert len(dimensions) <= 30
            assert len(set(dimensions)) == len(dimensions)
            labels = []
            for name in dimensions:
                value = document[name]
                assert isinstance(value, str), f"{name} must be a text at the root"
                assert 1 <= len(value) <= 1024
                assert value.strip()
                assert value.isascii()
                assert value.isprintable()
                labels.append((name, value))
            for metric in directive["Metrics"]:
                assert set(metric) <= {"Name", "Unit", "StorageResolution"}
                assert metric.get("Unit", "None") in UNITS
                assert metric.get("StorageResolution", 60) in (1, 60)
                value = document[metric["Name"]]
                assert isinstance(value, int | float)
                assert not isinstance(value, bool)
                found[metric["Name"], tuple(labels)] = value
    assert found
    return found
