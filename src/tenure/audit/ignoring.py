"""Comments that ignore a rule: `# tenure: ignore[TQ101]`, or several ids with commas between them.

They count on any line of what the finding is about, or alone on the line above it. One that names no rule hides nothing
and is itself reported (TQ902), and so is one whose rule finds nothing there (TQ903).
"""

import io
import re
import tokenize
from typing import NamedTuple

_MARK = re.compile(rb"tenure:\s*ignore")
_COMMENT = re.compile(r"#\s*tenure:\s*ignore(?:\s*\[([^\]]*)\])?")


class Comment(NamedTuple):
    """One comment that ignores."""

    line: int
    #: From 1, as editors count.
    column: int
    text: str
    ids: frozenset[str]
    #: Nothing but the comment stands on the line.
    is_alone: bool


def ignoring_comments(source: bytes) -> list[Comment]:
    """Every comment that ignores; strings that look like one do not."""
    if not _MARK.search(source):
        return []
    found: list[Comment] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                ids = frozenset(word.strip() for word in (match[1] or "").split(",") if word.strip())
                line, column = token.start
                found.append(Comment(line, column + 1, match[0], ids, not token.line[:column].strip()))
    except (tokenize.TokenError, SyntaxError):
        return found  # it was parsed before this, so that only the end of the text can be strange
    return found


def covering(rule: str, first: int, last: int, comments: list[Comment]) -> list[Comment]:
    """The comments that ignore a finding on these lines; empty: it is reported."""
    return [
        comment
        for comment in comments
        if rule in comment.ids and (first <= comment.line <= last or (comment.is_alone and comment.line == first - 1))
    ]
