"""Testing: what Tenure tests itself with, for everybody.

    kit           your own handlers: an app in memory and virtual time, workers on demand, faults to order
    plugin        pytest: the fixture `kit`, and async tests in virtual time
    virtual       an event loop and a clock in which waiting costs nothing; `probe`: processes that a test ends
    harness       what an adapter brings along to be tested
    conformance   the suites that every broker and state must pass
    faulty        brokers and states with one deliberate fault each, which the suites must catch
    workers       real workers on a harness, that come, freeze and die; `wire` is what they say

Behind the kit: `crew` (its workers), `here` (process handlers, in this process), `faults`, `view` and `patience`.
Behind the plugin: `running`. Nothing here knows an adapter. Only `plugin` needs pytest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenure.testing.kit import Kit, KitError, Seen
    from tenure.testing.virtual import VirtualClock

__all__ = ["Kit", "KitError", "Seen", "VirtualClock"]


def __getattr__(name: str) -> Any:
    """Everything is imported when it is asked for: pytest imports this package in every run."""
    if name not in __all__:
        msg = f"module 'tenure.testing' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module("tenure.testing.virtual" if name == "VirtualClock" else "tenure.testing.kit"), name)
