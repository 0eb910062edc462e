"""Counts in words, for every log line and every output. Pure."""


def plural(number: int, noun: str, plural_noun: str = "") -> str:
    """`1 message`, `2 messages`; `plural_noun` where the plural is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural_noun or f'{noun}s'}"
