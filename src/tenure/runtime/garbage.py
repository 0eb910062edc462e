"""How often the processes of long-running commands look for garbage in cycles.

A worker makes some fifteen objects for each message, and nearly none of them are in a cycle: they go by themselves.
With CPython's usual threshold the collector looked at them 13 times for 1,000 messages, and took an eighth of the
worker's time. Used by the command that owns its process, before its loop runs; an app inside another program is left
alone.
"""

import gc

#: Objects made since the last look, less those that went. A few megabytes at most wait for the next one.
_OBJECTS = 10_000
#: What the versions of CPython begin with.
_USUAL = (700, 2000)


def collect_rarely() -> None:
    """Look less often, and never again at what was imported. Nothing is changed if the program has set its own."""
    first, *others = gc.get_threshold()
    if gc.isenabled() and first in _USUAL:
        gc.collect()
        gc.freeze()
        gc.set_threshold(_OBJECTS, *others)
