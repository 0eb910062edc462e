"""Settings: what is in force, and where each came from. Secrets are masked."""

import msgspec

from tenure.client.operations.operations import Operations
from tenure.config import ARGUMENT, SettingName, setting_names
from tenure.tasks.registry import Registry
from tenure.url_options import safe_url

#: The value of a setting with such a word in its name is never shown.
_SECRET_WORDS = ("secret", "password", "token")


SettingValue = str | float | bool | tuple[str, ...] | None


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    #: As in `lease_seconds`.
    name: str
    #: As JSON; secrets in URLs are masked.
    value: SettingValue
    #: `environment`, `argument` or `default`.
    source: str
    #: The environment variable that it was read from, or can be set by. None: it has none.
    variable: str | None
    #: What it takes.
    allowed: str = ""


class SettingList(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting, in the order of the reference."""

    settings: tuple[SettingInForce, ...]


class SettingOperations(Operations):
    """Operations on the settings."""

    async def settings(self) -> SettingList:
        """Return the settings in force with where each came from."""
        registry = self._access.registry
        return SettingList(settings=tuple(_in_force(registry, one) for one in setting_names()))


def _in_force(registry: Registry, name: SettingName) -> SettingInForce:
    origin, value = registry.origins.get(name.field), getattr(registry.in_force, name.field)
    is_variable = origin is not None and origin != ARGUMENT
    return SettingInForce(
        name=name.field,
        value=_masked(name.field, value),
        source="environment" if is_variable else origin or "default",
        variable=origin if is_variable else name.variables[0],
        allowed=name.allowed,
    )


def _masked(name: str, value: SettingValue) -> SettingValue:
    if value and not isinstance(value, float | bool) and any(word in name for word in _SECRET_WORDS):
        return "…"
    return safe_url(value) if isinstance(value, str) else value
