"""The dashboard for Grafana is the one that is committed, and asks for nothing that is not exported."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.monitoring.catalogue import METRICS, MetricKind
from tenure.monitoring.grafana import ROWS, dashboard

FILE = Path(__file__).parents[2] / "deploy" / "monitoring" / "grafana" / "tenure.json"
KNOWN = {one.name: one for one in METRICS}
_SELECTOR = re.compile(r"\b(?P<metric>(?:tenure|process)_\w+)(?:\{(?P<labels>[^}]*)\})?")
_BY = re.compile(r"by \((?P<labels>[^)]*)\)")
EXPRESSIONS = [expression for row in ROWS.values() for panel in row for _, expression in panel.lines]


def read_by(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric of a query, as the catalogue calls it, with the labels by which it is chosen."""
    for found in _SELECTOR.finditer(expression):
        name = found["metric"]
        base = re.sub(r"_(?:bucket|count|sum)$", "", name)
        labels = {word.split("=")[0].rstrip("!") for word in re.findall(r"\w+!?=", found["labels"] or "")}
        yield name if name in KNOWN else base, labels


def test_the_file_is_as_it_is_made_now() -> None:
    assert FILE.read_text(encoding="utf-8") == dashboard(), "make reference"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_panel_asks_only_for_what_is_exported(expression: str) -> None:
    metrics = dict(read_by(expression))
    assert metrics
    for name, labels in metrics.items():
        spec = KNOWN[name]
        known = {*spec.labels, *(["le"] if spec.kind is MetricKind.HISTOGRAM else [])}
        assert labels <= known, name
        for grouped in _BY.finditer(expression):
            assert {one.strip() for one in grouped["labels"].split(",")} <= known, name
        if spec.kind is MetricKind.COUNTER:
            assert "rate(" in expression or "increase(" in expression, "a counter says nothing by its height"


def test_each_panel_says_what_it_shows_and_each_line_has_labels_that_it_has() -> None:
    for row in ROWS.values():
        for panel in row:
            assert panel.about.endswith("."), panel.title
            for legend, expression in panel.lines:
                grouped = " ".join(found["labels"] for found in _BY.finditer(expression))
                assert set(re.findall(r"{{(\w+)}}", legend)) <= set(re.findall(r"\w+", grouped)), panel.title


def test_panels_do_not_lie_on_each_other_and_have_ids_of_their_own() -> None:
    panels: list[dict[str, Any]] = json.loads(dashboard())["panels"]
    assert len({one["id"] for one in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for one in panels:
        place = one["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, one["title"]
        taken |= cells
