"""The extra `server`: whether the packages are there that serve HTTP. Imports none of them."""

import importlib.util

from tenure.errors import MissingExtra

_MODULES = ("starlette", "uvicorn")


def check_extra() -> None:
    """Raise `MissingExtra` if one is not there."""
    missing = [name for name in _MODULES if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"the server needs an extra ({' and '.join(missing)}): pip install 'tenure[server]'; nothing was started"
        raise MissingExtra(msg)
