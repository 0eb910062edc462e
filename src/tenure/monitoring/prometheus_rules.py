"""Rules for Prometheus, rendered from the alerts of the catalogue. Pure.

For each alert one recorded value, and one rule for each level under the same name:

    - record: tenure:duplicates              what is compared
    - record: tenure:duplicates:samples      of how many samples
    - alert: TenureDuplicates                severity="page": above the threshold; once it fires, above the lower one

Each rule is held back in an outage of the store and some time after one, after a start, and while an alert fires
that explains it. `inhibit_rules` says to Alertmanager that a stronger level replaces a milder one. Where no threshold
is changed these are the files in deploy/monitoring/prometheus.
"""

import json
import re
from collections.abc import Iterator, Sequence

from tenure.monitoring.alerting.evaluation import EVERYTHING
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSpec

HEADER = "# Made from src/tenure/monitoring/catalogue by `make reference`. Not edited by hand.\n"
#: Where a runbook is read when the address of a server is not known.
RUNBOOKS_URL = "http://127.0.0.1:8383"
#: Whether the store answers any process, as a recorded value.
_UP, _UP_QUERY = "tenure:store_up", "max(tenure_store_up)"
_AWAY = "store_away"
#: Is judged without what it is about: nothing is exported any more.
_ABSENT = "absent("
_MINUTE = 60


def rules(specs: Sequence[AlertSpec], *, public_url: str | None = None) -> str:
    """The file of rules for these alerts, as YAML."""
    lines = [HEADER + "groups:", "  - name: tenure", "    rules:"]
    lines += _record(_UP, _UP_QUERY)
    own = [one for one in specs if one.expr]
    for spec in own:
        lines += _recorded(spec)
    for spec in own:
        for level in spec.levels:
            lines += _rule(spec, level, own, public_url or RUNBOOKS_URL)
    return "\n".join(lines) + "\n"


def inhibit_rules(specs: Sequence[AlertSpec]) -> str:
    """The `inhibit_rules` of Alertmanager: a stronger level replaces a milder one of the same alert."""
    lines = [HEADER + "inhibit_rules:"]
    for strong, mild in (("page", "ticket|show"), ("ticket", "show")):
        lines += [
            "  - source_matchers:",
            f"      - severity = {strong}",
            '      - alertname =~ "Tenure.*"',
            "    target_matchers:",
            f'      - severity =~ "{mild}"',
            '      - alertname =~ "Tenure.*"',
            f"    equal: [{', '.join(['alertname', *_labels(specs)])}]",
        ]
    return "\n".join(lines) + "\n"


def rule_name(id: str) -> str:
    """The name of an alert in Prometheus: `TenureOldestAge`."""
    return "Tenure" + "".join(part.capitalize() for part in id.split("_"))


def duration(seconds: float) -> str:
    """As Prometheus writes it: `10m`, `30s`."""
    whole = round(seconds)
    return f"{whole // _MINUTE}m" if whole and whole % _MINUTE == 0 else f"{whole}s"


def _labels(specs: Sequence[AlertSpec]) -> list[str]:
    return sorted({label for one in specs if one.expr for label in _kept_labels(one)})


def _kept_labels(spec: AlertSpec) -> tuple[str, ...]:
    """The labels that its recorded value has, as its query says: `by (queue, task)`."""
    found = re.match(r"\W*(?:sum|max|min) by \(([^)]*)\)", spec.expr)
    return tuple(label.strip() for label in found[1].split(",")) if found is not None else ()


def _recorded(spec: AlertSpec) -> Iterator[str]:
    window = duration(spec.window_seconds)
    for name, query in ((f"tenure:{spec.id}", spec.expr), (f"tenure:{spec.id}:samples", spec.samples)):
        if query:
            yield from _record(name, query.replace("$window", window))


def _record(name: str, query: str) -> list[str]:
    return [f"      - record: {name}", f"        expr: {_quoted(query)}"]


def _quoted(query: str) -> str:
    """A query as YAML. It has no single quotes, so it needs no escapes."""
    return f"'{query}'"


def _rule(spec: AlertSpec, level: AlertLevel, specs: Sequence[AlertSpec], url: str) -> list[str]:
    lines = [f"      - alert: {rule_name(spec.id)}", f"        expr: {_quoted(_condition(spec, level, specs))}"]
    if level.for_seconds:
        lines.append(f"        for: {duration(level.for_seconds)}")
    about = {
        "summary": f"{spec.title}{_about_labels(spec)}",
        "description": f"{spec.about} Measured: {spec.measures}. Now: {{{{ $value | humanize }}}}.",
        "action": spec.remedy,
        "runbook_url": f"{url.rstrip('/')}/runbooks/{spec.runbook}",
    }
    lines += ["        labels:", f"          severity: {level.severity}", "        annotations:"]
    return lines + [f"          {name}: {json.dumps(text, ensure_ascii=False)}" for name, text in about.items()]


def _about_labels(spec: AlertSpec) -> str:
    labels = _kept_labels(spec)
    return f" ({', '.join(f'{{{{ $labels.{one} }}}}' for one in labels)})" if labels else ""


def _condition(spec: AlertSpec, level: AlertLevel, specs: Sequence[AlertSpec]) -> str:
    value, labels = f"tenure:{spec.id}", _kept_labels(spec)
    condition = f"{value} > {level.fire:g}"
    if level.clear != level.fire:
        firing = f'ALERTS{{alertname="{rule_name(spec.id)}", severity="{level.severity}", alertstate="firing"}}'
        condition = f"({condition} or ({value} > {level.clear:g} and on ({', '.join(labels)}) {firing}))"
    if level.min_samples and spec.samples:
        by = ", ".join(one for one in labels if one != "cause")
        condition += f" and on ({by}) tenure:{spec.id}:samples >= {level.min_samples}"
    return condition + "".join(_guards(spec, specs))


def _guards(spec: AlertSpec, specs: Sequence[AlertSpec]) -> Iterator[str]:
    """What holds it back: an outage, the time after one and after a start, and alerts that explain it."""
    for other in specs:
        if other.id == spec.id or (EVERYTHING not in other.inhibits and spec.id not in other.inhibits):
            continue
        if _never_inhibited(spec):
            continue
        if other.id == _AWAY:
            yield f" unless on () ({_UP} == 0)"
            continue
        shared = [one for one in _kept_labels(other) if one in _kept_labels(spec)]
        firing = f'ALERTS{{alertname="{rule_name(other.id)}", alertstate="firing"}}'
        yield f" unless on ({', '.join(shared)}) {firing}"
    if spec.grace_seconds and _ABSENT not in spec.expr:
        yield f" and on () ({_UP} offset {duration(spec.grace_seconds)} == 1)"


def _never_inhibited(spec: AlertSpec) -> bool:
    return spec.id in (_AWAY, "watchdog")
