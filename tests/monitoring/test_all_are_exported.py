"""Nothing is described that is not exported: each metric of the catalogue is made somewhere in the code."""

import re
from pathlib import Path

import pytest

import tenure as package
from tenure.monitoring.catalogue import METRICS

SOURCE = Path(package.__file__).parent
#: These read metrics.
_READERS = ("monitoring/catalogue/", "monitoring/grafana.py", "monitoring/prometheus_rules.py")
TEXTS = [
    path.read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.py")
    if not path.relative_to(SOURCE).as_posix().startswith(_READERS)
]


@pytest.mark.parametrize("name", [one.name for one in METRICS])
def test_each_metric_is_made(name: str) -> None:
    assert any(f'"{name}"' in text for text in TEXTS)


def test_no_metric_is_made_that_is_not_described() -> None:
    made = {
        found
        for text in TEXTS
        for found in re.findall(r'"(tenure_[a-z_]+_(?:total|seconds|ratio|bytes|messages))"', text)
    }
    assert made <= {one.name for one in METRICS}
