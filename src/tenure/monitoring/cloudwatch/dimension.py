"""What a dimension of CloudWatch may hold: 1 to 1,024 printable ASCII characters, one of them no space.

The service refuses other figures, or drops them without a word. So a character that it does not take is written as in
a URL: the queue `über-tasks` is `%C3%BCber-tasks`.
"""

import string
from urllib.parse import quote

MOST_CHARACTERS = 1024
#: All but the percent sign, or two values could become one.
_TAKEN = string.punctuation.replace("%", " ")


def dimension_value(text: str) -> str:
    """A label's value as CloudWatch takes it."""
    return quote(text, safe=_TAKEN)[:MOST_CHARACTERS] if text.strip() else "-"
