"""The metrics that others know are computed of what there is."""

import re

import pytest
from tests.monitoring.test_grafana import KNOWN, read_by

from tenure.event import Event, EventKind
from tenure.monitoring.catalogue import ALERTS, METRIC_ALIASES, MetricAlias, Vocabulary
from tenure.monitoring.flat import records

#: What the rules for Prometheus record.
_RECORDED = {f"tenure:{one.id}" for one in ALERTS if one.expr}


@pytest.mark.parametrize("alias", METRIC_ALIASES, ids=lambda alias: alias.name)
def test_a_formula_reads_only_what_is_exported_or_recorded(alias: MetricAlias) -> None:
    recorded = set(re.findall(r"tenure:\w+", alias.expr))
    exported = dict(read_by(alias.expr))
    assert recorded or exported
    assert recorded <= _RECORDED
    for name, labels in exported.items():
        assert labels <= set(KNOWN[name].labels), name


def test_no_metric_has_two_formulas() -> None:
    names = [(one.vocabulary, one.name) for one in METRIC_ALIASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("at_risk", "word"), [(True, "HIGH"), (False, "OK")])
def test_runs_that_use_up_their_lease_are_found_by_the_word_that_queries_know(word: str, *, at_risk: bool) -> None:
    event = Event(EventKind.PROCESSED, 100.0, "docs", "job", "m1", seconds=80.0, data={"timeout_risk": at_risk})
    (record,) = records(event, Vocabulary.APP_INSIGHTS)
    assert record["timeout_risk"] == word
