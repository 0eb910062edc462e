"""Writes docs/reference/alerts.md from the catalogue: `make reference` runs it, and a test compares."""

from collections.abc import Sequence

from tenure.monitoring.catalogue import ALERTS, AlertLevel, AlertSpec
from tenure.monitoring.detectors import DETECTORS

_HEAD = """\
# Alerts

Made from the catalogue by `make reference`. [Get alerted](../how-to/get-alerted.md) says how they are judged and told,
and how `TENURE_ALERTS` changes them. Each name leads to its runbook.
"""


def page() -> str:
    """The whole page."""
    detectors = [one.spec for one in DETECTORS]
    parts = [
        _HEAD, "## Judged by Prometheus and by Tenure", _table([one for one in ALERTS if one.expr]),
        "## Judged by Tenure alone", _table([*(one for one in ALERTS if not one.expr), *detectors]),
    ]  # fmt: skip
    return "\n".join(parts)


def _table(specs: Sequence[AlertSpec]) -> str:
    head = "\n| alert | measures | level | fires above | clears at | for | of at least |"
    rows = [head, f"|{'---|' * 7}"]
    for spec in specs:
        name = f"[{spec.id}](../runbooks/{spec.runbook}.md){'' if spec.is_on else ' (off by default)'}"
        for place, level in enumerate(spec.levels):
            first = f"| {name} | {spec.measures}{_window(spec)}" if not place else "| | "
            rows.append(f"{first} | `{level.severity}` | {_levels(spec, level)} |")
    return "\n".join([*rows, ""])


def _window(spec: AlertSpec) -> str:
    return f", in {spec.window_seconds / 60:g} min" if spec.window_seconds else ""


def _levels(spec: AlertSpec, level: AlertLevel) -> str:
    unit = "" if spec.unit == "1" else f" {spec.unit.strip('{}')}"
    held = f"{level.for_seconds:g} s" if level.for_seconds else "at once"
    samples = str(level.min_samples) if level.min_samples else ""
    return f"{level.fire:g}{unit} | {level.clear:g}{unit} | {held} | {samples}"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - the page itself
