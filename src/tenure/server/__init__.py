"""The server: HTTP routes over `client/operations`, for programs in any language and for the dashboard.

    app = FastAPI(lifespan=...)
    app.mount("/tenure", tenure.server.asgi("sqlite:///jobs.db"))

`application.py` is the ASGI application, `server.py` what its requests share, `route.py` one row of the table of
routes, `guard/` what is refused before a route is asked, `authentication.py` who asks. `tenure serve` runs it
(`web_server.py`).

Its names are imported when they are first used: Starlette is an extra, and access tokens can be made without it.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.server.application import Application as Application
    from tenure.server.application import asgi as asgi
    from tenure.server.principal import AccessScope as AccessScope
    from tenure.server.principal import Principal as Principal

__all__ = ["AccessScope", "Application", "Principal", "asgi"]

_HOMES = {"Application": "application", "asgi": "application", "AccessScope": "principal", "Principal": "principal"}


def __getattr__(name: str) -> object:
    """A public name. Raises `MissingExtra` where the extra is not installed."""
    if name not in _HOMES:
        msg = f"module 'tenure.server' has no attribute {name!r}"
        raise AttributeError(msg)
    if _HOMES[name] == "application":
        from tenure.server.extra import check_extra  # noqa: PLC0415 - only who serves needs it

        check_extra()
    return getattr(importlib.import_module(f"tenure.server.{_HOMES[name]}"), name)
