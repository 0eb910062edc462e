"""Settings: what is in force, and where each came from. Secrets are masked."""

import msgspec

from tenure.client.operations.operations import Operations


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    #: As in `lease_seconds`.
    name: str
    #: As JSON; secrets in URLs are masked.
    value: str | int | float | bool | None
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
    """What can be asked of the settings."""

    async def settings(self) -> SettingList:
        """Return the settings in force with where each came from."""
        raise NotImplementedError
