"""Thresholds: the levels of alerts, as changed by the setting `TENURE_ALERTS`.

    duplicates.page=0.1             pages above 10 %; it clears at the same part of that as before
    lease_use.ticket=0.85:0.8       the level at which it clears, too
    dead_letters.show=off           without that level
    zombie=off, flash=on            a whole alert or detector

`off` alone: Tenure judges nothing itself. Used for its own evaluator and for the rules of Prometheus.
"""

from collections.abc import Sequence

import msgspec

from tenure.errors import BadSetting
from tenure.monitoring.catalogue.spec import AlertLevel, AlertSeverity, AlertSpec
from tenure.rules.arguments import meant

OFF, ON = "off", "on"


def changed(specs: Sequence[AlertSpec], changes: Sequence[str]) -> list[AlertSpec]:
    """The alerts that are on, with these changes. Raises `BadSetting` with every mistake."""
    by_id = {one.id: one for one in specs}
    mistakes: list[str] = []
    for change in changes:
        if change == OFF:
            by_id = {}
            continue
        name, _, value = change.partition("=")
        id, _, level = name.partition(".")
        spec = by_id.get(id)
        if spec is None:
            if all(one.id != id for one in specs):
                mistakes.append(f"there is no alert {id!r}; {meant(id, [one.id for one in specs])}")
            continue
        try:
            by_id[id] = _with_level(spec, level, value) if level else _switched(spec, value)
        except ValueError as error:
            mistakes.append(f"{change!r}: {error}")
    if mistakes:
        told = "; ".join(mistakes)
        raise BadSetting(f"TENURE_ALERTS: {told}{'' if told.endswith('?') else '.'} Nothing was done")
    return [one for one in by_id.values() if one.is_on]


def _switched(spec: AlertSpec, value: str) -> AlertSpec:
    if value not in (ON, OFF):
        msg = "an alert is on or off"
        raise ValueError(msg)
    return msgspec.structs.replace(spec, is_on=value == ON)


def _with_level(spec: AlertSpec, name: str, value: str) -> AlertSpec:
    at = next((place for place, one in enumerate(spec.levels) if one.severity == name), None)
    if at is None:
        has = ", ".join(one.severity for one in spec.levels)
        known = [*AlertSeverity]
        msg = f"its levels are {has}" if name in known else f"a level is {', '.join(known)}"
        raise ValueError(msg)
    levels = list(spec.levels)
    if value == OFF:
        del levels[at]
        return msgspec.structs.replace(spec, levels=tuple(levels), is_on=spec.is_on and bool(levels))
    levels[at] = _level(levels[at], value)
    return msgspec.structs.replace(spec, levels=tuple(levels))


def _level(level: AlertLevel, value: str) -> AlertLevel:
    fire, _, clear = value.partition(":")
    above = _number(fire)
    usual = round(above * level.clear / level.fire, 12) if level.fire else min(above, level.clear)
    below = _number(clear) if clear else usual
    if below > above:
        msg = f"it would clear at {below:g} and fire above {above:g}: the first is not above the second"
        raise ValueError(msg)
    return msgspec.structs.replace(level, fire=above, clear=below)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number < float("inf"):
        msg = f"{text!r} is no number from 0"
        raise ValueError(msg)
    return number
