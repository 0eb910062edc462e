"""The part of Markdown that the pages use: paragraphs, headings, quotes, lists, emphasis, code and links."""

import html
import re
from urllib.parse import urlsplit

_SPECIAL = re.compile(r"([\\`*_\[\]<>])|^([#>+-]|\d+\.)(?=\s)")
_SPAN = re.compile(
    r"\\(?P<plain>[^A-Za-z0-9\s])"
    r"|`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>.+?)\*\*"
    r"|\*(?P<em>.+?)\*"
    r"|\[(?P<label>[^\]]+)\]\((?P<link>[^)\s]+)\)"
)
_SAFE = frozenset({"", "http", "https", "mailto"})


def as_markdown(paragraphs: list[str]) -> str:
    """Plain paragraphs as Markdown: what would be a sign is escaped."""
    return "\n\n".join(_SPECIAL.sub(_escaped, paragraph) for paragraph in paragraphs)


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    return f"{sign[:-1]}\\{sign[-1]}"


def as_html(markdown: str) -> str:
    """Markdown as HTML. Whatever is not a sign is text, so no tag of a feed reaches a page."""
    return "\n".join(_block(block.strip("\n")) for block in re.split(r"\n{2,}", markdown) if block.strip())


def _block(block: str) -> str:
    lines = block.splitlines()
    if heading := re.match(r"(#{1,4}) (.+)", block):
        level = min(len(heading[1]) + 1, 6)  # a page has one h1, its title
        return f"<h{level}>{_spans(heading[2])}</h{level}>"
    if all(line.startswith(">") for line in lines):
        return f"<blockquote><p>{_spans(' '.join(line[1:].strip() for line in lines))}</p></blockquote>"
    if all(line.startswith("- ") for line in lines):
        return "<ul>" + "".join(f"<li>{_spans(line[2:])}</li>" for line in lines) + "</ul>"
    return f"<p>{_spans(' '.join(lines))}</p>"


def _spans(text: str) -> str:
    parts, at = [], 0
    for found in _SPAN.finditer(text):
        parts.append(html.escape(text[at : found.start()], quote=False))
        parts.append(_span(found))
        at = found.end()
    return "".join([*parts, html.escape(text[at:], quote=False)])


def _span(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "link":
        label = _spans(found["label"])
        return (
            f'<a href="{html.escape(found["link"])}">{label}</a>' if urlsplit(found["link"]).scheme in _SAFE else label
        )
    if kind in {"strong", "em"}:
        return f"<{kind}>{_spans(found[kind])}</{kind}>"
    if kind == "code":
        return f"<code>{html.escape(found['code'], quote=False)}</code>"
    return html.escape(found["plain"], quote=False)
