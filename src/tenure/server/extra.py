"""The extra `server`: checks whether its packages are installed, without importing them."""

import importlib.util

from tenure.errors import MissingExtra

_MODULES = ("starlette", "uvicorn")


def check_extra() -> None:
    """Raise `MissingExtra` if a package of the extra is not installed."""
    missing = [name for name in _MODULES if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"the server needs an extra ({' and '.join(missing)}): pip install 'tenure[server]'; nothing was started"
        raise MissingExtra(msg)
