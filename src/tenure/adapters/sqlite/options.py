"""How a file is used: what `connect` was told."""

from typing import Literal

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the file is used."""

    path: str
    #: full: what was acknowledged survives a power cut. normal: it survives a crash of the process only.
    synchronous: Literal["full", "normal"] = "full"
    #: How long a call waits for another process's lock before it fails.
    busy_seconds: float = 10.0
    #: How long finished messages and done keys are remembered.
    keep_seconds: float = 7 * 86400.0
    #: For those who only look: a path that leads nowhere is a mistake, not a new file.
    must_exist: bool = False
