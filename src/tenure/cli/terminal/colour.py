"""Whether a stream gets colours: a terminal does, unless NO_COLOR is set (no-color.org) or it cannot show any."""

import os
from typing import TextIO


def wants_colour(stream: TextIO) -> bool:
    """Decide as rich does for tables, so that lines and tables agree. FORCE_COLOR gives colours to a pipe too."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
