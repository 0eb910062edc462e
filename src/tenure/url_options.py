"""The options of a URL, after its `?`, each with what it takes; and a URL without its secrets, for people.

Every place that a URL can name reads its options here, so that a typo gets the same error everywhere, and before
anything was opened. Used by `adapters/<vendor>/`. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

from tenure.errors import BadURL

#: How files of SQLite are usually called.
DATABASES = (".db", ".sqlite", ".sqlite3")
#: A password, also one with a `/` or `@` that should have been quoted, and in options, or in a URL quoted in one:
#: keys, signatures, tokens, and all that a connection string says after them.
_SECRETS = re.compile(
    r"((?::|%3A)(?:/|%2F){2}(?:(?!%3A|%2F|%40)[^/?#:@])*(?::|%3A)).*(?=@|%40)"
    r"|((?:password|key|sig|signature|secret|token)(?:=|%3D))(?:(?!%26)[^&#])*",
    re.IGNORECASE,
)


def read_query(
    url: str,
    query: Iterable[tuple[str, str]],
    taken: Mapping[str, str],
    read: Callable[[str, str], object],
    *,
    secrets: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """The options by name. Raises `BadURL`, which says whether the name or the value is wrong.

    `taken`: the names, and what each takes, for people. `read` makes a value of a name and its text; None: it is not
    taken. The text of `secrets` is not shown.
    """
    options: dict[str, Any] = {}
    for name, text in query:
        if name not in taken:
            msg = f"{url!r}: {name!r} is not an option; nothing was opened. There are {', '.join(taken)}"
            raise BadURL(msg)
        value = read(name, text)
        if value is None:
            shown = "…" if name in secrets else repr(text)
            msg = f"{url!r}: {name} cannot be {shown}; nothing was opened. It takes {taken[name]}"
            raise BadURL(msg)
        options[name] = value
    return options


def above_zero(text: str) -> float | None:
    """A number above 0, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number > 0 and isfinite(number) else None


def whole_above_zero(text: str) -> int | None:
    """A whole number above 0, or None."""
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number > 0 else None


def yes_or_no(text: str) -> bool | None:
    """True or False, or None."""
    return {"yes": True, "no": False}.get(text)


def web_address(text: str) -> str | None:
    """An address of http or https without the slash at its end, or None."""
    parts = urlsplit(text)
    return text.rstrip("/") if parts.scheme in ("http", "https") and parts.netloc else None


def with_slashes(url: str) -> str:
    """What a URL that lacks slashes was probably meant to be: `redis:/host` is `redis://host`."""
    scheme, _, rest = url.partition(":/")
    if scheme != "sqlite":
        return f"{scheme}://{rest.lstrip('/')}"
    return f"sqlite:///{rest}" if "/" not in rest else f"sqlite:////{rest}"


def safe_url(url: str) -> str:
    """The URL without its secrets, for errors, logs and screens."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}…", url)
