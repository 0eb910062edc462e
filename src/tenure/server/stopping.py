"""Noticing that the process was asked to stop, before its lifespan ends.

A web server waits for open streams before it ends the lifespan, and streams wait for the lifespan: so they must learn
of the end earlier. uvicorn's own handler of SIGTERM sets `should_exit`, wherever this application is mounted.
"""

import asyncio
import signal

_LOOK_SECONDS = 0.25


async def watch_for_stop(stopping: asyncio.Event) -> None:
    """Set `stopping` when the web server of this process was asked to stop."""
    while not stopping.is_set():
        if _is_asked(signal.SIGTERM) or _is_asked(signal.SIGINT):
            stopping.set()
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _is_asked(number: signal.Signals) -> bool:
    web_server = getattr(signal.getsignal(number), "__self__", None)
    return getattr(web_server, "should_exit", False) is True
