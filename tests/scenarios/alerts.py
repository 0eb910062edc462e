"""Which alerts a scenario's faults may raise. In a soak every other one is an error: it would have woken somebody.

What fires is judged once at the end, as if it had been above its threshold all the time.
"""

import asyncio

from tenure.app import Tenure
from tenure.client.alert_reading import AlertReader
from tenure.monitoring.alerting.evaluation import evaluate
from tenure.monitoring.in_force import detectors_in_force

#: By then those that live have stored what they counted, and its bucket is complete.
STORED_SECONDS = 16.0
#: Workers are killed, frozen or cut off: what they held comes back.
_RETURNED = frozenset({"workers_crashing", "redelivered", "leases_lost", "zombie", "duplicates", "near_dead_letters"})
_AWAY = frozenset({"heartbeats_failing", "store_slow", "sweep_late", "deletion_failures", "work_done_twice"})
#: By scenario file, without `test_` and its ending.
INJECTED = {
    "killing": _RETURNED,
    "stopping": _RETURNED,
    "supervising": _RETURNED,
    "children": _RETURNED | {"dead_letters"},
    "crashing": _RETURNED | {"dead_letters"},
    "freezing": _RETURNED | _AWAY,
    "outliving": _RETURNED | _AWAY,
    "keys": _RETURNED | _AWAY,
    "away": _RETURNED | _AWAY,
    "cutting": _RETURNED | _AWAY,
    "failing": _RETURNED | {"dead_letters"},
    "garbage": _RETURNED | {"dead_letters"},
}


async def raised(app: Tenure) -> set[str]:
    """The alerts and detectors that see anything above their threshold in the store of this app now."""
    await app.open()
    await asyncio.sleep(STORED_SECONDS)
    reading = await AlertReader(app.operate.access).read()
    detectors = detectors_in_force(())
    changes = evaluate(detectors, reading, {}, since=0.0)
    return {change.spec.id for change in changes} - {"watchdog"}


def unexpected(found: set[str], scenario: str) -> set[str]:
    """Those that the faults of this scenario do not explain. `scenario`: as pytest names the running test."""
    file = scenario.partition("::")[0].rpartition("/")[2]
    return found - INJECTED.get(file.removeprefix("test_").removesuffix(".py"), frozenset())
