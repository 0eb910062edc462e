"""A message on two lines, for terminals in which a table would cut its id.

The id comes first and is never cut or wrapped: it is what people copy. What does not fit beside it is left out, the
least important first; the line below ends in "…" where it is too long.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.cli.terminal.plain import one_line

if TYPE_CHECKING:
    from rich.text import Text

_GAP = "  "


def block(id: str, beside: Sequence["Text"], below: "Text", width: int) -> "Text":
    """`beside` is what stands after the id, the most important first. Print it with `soft_wrap=True`."""
    from rich.text import Text

    head = Text(one_line(id), style="bold")
    for part in beside:
        if part and len(head) + len(_GAP) + len(part) <= width:
            head = Text.assemble(head, _GAP, part)
    if not below:
        return head
    rest = Text.assemble(_GAP, below)
    rest.truncate(width, overflow="ellipsis")
    return Text.assemble(head, "\n", rest)
