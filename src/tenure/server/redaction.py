"""Redaction: values of payload keys and headers that are never shown, chosen by name (`TENURE_SERVER_REDACT`).

A name means every key that has it as a word: `token` means `token`, `api_token`, `apiToken` and `X-Token`, and not
`tokens`. Only what messages carry is looked at: payloads, results, headers, envelopes, edits. What an exception says is
not: who must not see that has no scope `payload`. Pure.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

REDACTED = "[redacted]"

#: Fields of answers that hold what a message carries, as JSON values.
_CARRIED = frozenset({"body", "headers", "payload", "result"})
#: And those that hold it as a text: the envelope, a kept payload.
_TEXTS = frozenset({"raw", "text"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class Redaction:
    """The names of one server."""

    def __init__(self, names: Iterable[str]) -> None:
        """Hide the values of keys with these names."""
        self._names = frozenset(tuple(_words(name)) for name in names)
        self._marks = tuple(name[0].encode() for name in self._names if name)

    def redact(self, encoded: bytes) -> bytes:
        """A JSON document without these values. One that has none of the names is returned as it is."""
        lowered = encoded.lower()
        if not any(mark in lowered for mark in self._marks):
            return encoded
        try:
            document = msgspec.json.decode(encoded)
        except msgspec.DecodeError:  # a number that Python cannot hold
            document = json.loads(encoded, parse_float=_as_written, parse_int=_as_written)
        return msgspec.json.encode(self._outside(document))

    def hides(self, key: str) -> bool:
        """Whether the value of this key is never shown."""
        words = _words(key)
        return any(
            tuple(words[begin : begin + len(name)]) == name for name in self._names for begin in range(len(words))
        )

    def _outside(self, value: Any) -> Any:
        """A part of an answer that is not what a message carries, but may contain it."""
        if isinstance(value, list):
            return [self._outside(one) for one in value]
        if not isinstance(value, dict):
            return value
        if {"before", "after"} <= value.keys() and any(self.hides(str(value.get(name))) for name in ("path", "name")):
            return {**value, "before": REDACTED, "after": REDACTED}  # an edit of such a key
        return {key: self._field(key, one) for key, one in value.items()}

    def _field(self, key: str, value: Any) -> Any:
        if key in _TEXTS or (key in _CARRIED and isinstance(value, str)):
            return self._text(value)
        if key not in _CARRIED:
            return self._outside(value)
        try:
            return self._inside(value)
        except RecursionError:
            return REDACTED

    def _inside(self, value: Any) -> Any:
        # Loops: each comprehension would be a frame more, and payloads may be nested 500 deep.
        if isinstance(value, list):
            kept = []
            for one in value:
                kept.append(self._inside(one))  # noqa: PERF401
            return kept
        if isinstance(value, Mapping):
            shown: dict[Any, Any] = {}
            for key, one in value.items():
                shown[key] = REDACTED if self.hides(key) else self._inside(one)
            return shown
        return value

    def _text(self, value: Any) -> Any:
        """A text that is JSON itself. One that is cut off, as kept payloads may be, is hidden if it has such a name."""
        if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
            return value
        try:
            return msgspec.json.encode(self._inside(msgspec.json.decode(value))).decode()
        except (msgspec.DecodeError, RecursionError):
            return REDACTED if any(mark.decode() in value.lower() for mark in self._marks) else value


def _as_written(number: str) -> msgspec.Raw:
    return msgspec.Raw(number.encode())


def _words(key: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(key)]
