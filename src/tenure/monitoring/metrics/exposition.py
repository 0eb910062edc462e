"""Writes samples as Prometheus text, or as OpenMetrics where a scraper asks for it. Pure.

Our own forty lines instead of the package prometheus_client: the figures are kept in memory already, in buckets that
its histograms cannot take over, and its objects would count every message a second time (0.7 to 2.5 µs each). promtool
and a real Prometheus read the result in the tests.
"""

import math
from collections.abc import Iterable

from tenure.monitoring.catalogue.metrics import METRICS
from tenure.monitoring.catalogue.spec import MetricKind, MetricSpec
from tenure.monitoring.metrics.sample import Sample, Times

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

#: The exponents of the borders, powers of two from 2 ms to 68 min: a power of two is a border of our buckets, so
#: nothing is counted on the wrong side of one.
_LEAST, _MOST = -9, 12
#: A bucket's number has four bits of the fraction after the exponent, which has this bias.
_FRACTION_BITS, _BIAS = 4, 1_022
BORDERS = tuple(2.0**exponent for exponent in range(_LEAST, _MOST + 1))
_LE = (*(repr(border) for border in BORDERS), "+Inf")


def wants_openmetrics(accept: str) -> bool:
    """Whether an `Accept` header asks for OpenMetrics."""
    return "application/openmetrics-text" in accept


def render(samples: Iterable[Sample], *, openmetrics: bool = False) -> bytes:
    """All of them, in the order of the catalogue. Samples of a metric that is not in it are an error."""
    by_metric: dict[str, list[Sample]] = {spec.name: [] for spec in METRICS}
    for one in samples:
        by_metric[one.metric].append(one)
    lines: list[str] = []
    for spec in METRICS:
        found = by_metric[spec.name]
        if found:
            name = spec.name.removesuffix("_total") if openmetrics and spec.kind is MetricKind.COUNTER else spec.name
            lines += (
                f"# HELP {name} {_escaped(spec.about, openmetrics=openmetrics)}",
                f"# TYPE {name} {spec.kind.value}",
            )
            for one in sorted(found, key=_by_labels):
                _write(lines, spec, one)
    if openmetrics:
        lines.append("# EOF")
    return ("\n".join(lines) + "\n").encode()


def cumulative(times: Times) -> list[int]:
    """How many took no longer than each of `BORDERS`, and how many there were."""
    counts = [0] * (len(BORDERS) + 1)
    for bucket, number in times.buckets.items():
        # The upper border of the power of two that the bucket lies in.
        exponent = (bucket >> _FRACTION_BITS) - _BIAS
        counts[min(max(exponent, _LEAST), _MOST + 1) - _LEAST] += number
    for place in range(1, len(counts)):
        counts[place] += counts[place - 1]
    return counts


def _write(lines: list[str], spec: MetricSpec, one: Sample) -> None:
    words = [f'{name}="{_label(value)}"' for name, value in zip(spec.labels, one.labels, strict=True)]
    if not isinstance(one.value, Times):
        lines.append(f"{spec.name}{_braced(words)} {_number(one.value)}")
        return
    before = "".join(f"{word}," for word in words)
    counts = cumulative(one.value)
    lines += [f'{spec.name}_bucket{{{before}le="{le}"}} {count}' for le, count in zip(_LE, counts, strict=True)]
    lines += (
        f"{spec.name}_sum{_braced(words)} {_number(one.value.seconds)}",
        f"{spec.name}_count{_braced(words)} {counts[-1]}",
    )


def _braced(words: list[str]) -> str:
    return f"{{{','.join(words)}}}" if words else ""


def _label(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _escaped(text: str, *, openmetrics: bool) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if openmetrics else text


def _number(value: float) -> str:
    if math.isfinite(value) and value == int(value):
        return str(int(value))
    return repr(value) if math.isfinite(value) else {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")


def _by_labels(one: Sample) -> tuple[str, ...]:
    return one.labels
