"""Markdown as HTML, as far as the runbooks use it: headings, paragraphs, lists, tables, code, links. Pure.

Every character of the text is escaped. A link that `link_of` does not know becomes its text.
"""

import re
from collections.abc import Callable, Iterator
from html import escape

#: From a link's target to where it leads here. None: nowhere.
LinkOf = Callable[[str], str | None]

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_INLINE = re.compile(r"`(?P<code>[^`]+)`|\[(?P<text>(?:`[^`]*`|[^\]])+)\]\((?P<target>[^)]+)\)|\*\*(?P<bold>[^*]+)\*\*")
_HEADING = re.compile(r"(#{1,3}) (.+)")


def title_of(text: str) -> str:
    """The first heading."""
    found = re.match(r"# (.+)", text)
    return found[1] if found is not None else ""


def as_html(text: str, link_of: LinkOf) -> str:
    """The page's body."""
    return "".join(_blocks(_COMMENT.sub("", text).split("\n"), link_of))


def _blocks(lines: list[str], link_of: LinkOf) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("```")), len(lines))
            yield f"<pre><code>{escape(chr(10).join(lines[at + 1 : end]))}</code></pre>"
            at = end + 1
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            size = len(heading[1])
            yield f"<h{size}>{_inline(heading[2], link_of)}</h{size}>"
            at += 1
        elif not line.strip():
            at += 1
        else:
            ends = (n for n in range(at, len(lines)) if not lines[n].strip() or lines[n].startswith("```"))
            end = next(ends, len(lines))
            yield from _paragraph(lines[at:end], link_of)
            at = end


def _paragraph(lines: list[str], link_of: LinkOf) -> Iterator[str]:
    if lines[0].startswith("|"):
        yield "<table>"
        for number, line in enumerate(one for one in lines if not set(one) <= set("|-: ")):
            tag = "th" if number == 0 else "td"
            cells = line.strip().strip("|").split("|")
            yield "<tr>" + "".join(f"<{tag}>{_inline(cell.strip(), link_of)}</{tag}>" for cell in cells) + "</tr>"
        yield "</table>"
    elif lines[0].startswith("- "):
        yield "<ul>"
        for item in re.split(r"\n?^- ", "\n".join(lines), flags=re.MULTILINE)[1:]:
            yield f"<li>{_inline(item, link_of)}</li>"
        yield "</ul>"
    else:
        yield f"<p>{_inline(' '.join(lines), link_of)}</p>"


def _inline(text: str, link_of: LinkOf) -> str:
    found, end = [], 0
    for match in _INLINE.finditer(text):
        found.append(escape(text[end : match.start()]))
        end = match.end()
        if match["code"] is not None:
            found.append(f"<code>{escape(match['code'])}</code>")
        elif match["bold"] is not None:
            found.append(f"<strong>{escape(match['bold'])}</strong>")
        else:
            to, inner = link_of(match["target"]), _inline(match["text"], lambda _: None)
            found.append(inner if to is None else f'<a href="{escape(to, quote=True)}">{inner}</a>')
    return "".join([*found, escape(text[end:])])
