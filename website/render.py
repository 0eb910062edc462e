"""Markdown to HTML: headings with anchors, code with its words marked, links to the pages as they are on the site.

What a link leads to is asked of `Links`; a link that leads nowhere is a problem, and ends the build. Next: `layout`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from website.highlight import highlighted
from website.tree import plain

_FILE = re.compile(r"# ([\w./-]+\.(?:py|sh|toml|ya?ml|ini|json|service))\n")


class Links(Protocol):
    """What a page may ask about the rest of the site."""

    def resolve(self, link: str) -> str:
        """The address of what a link of this page leads to, from this page."""

    def picture(self, link: str, words: str) -> str:
        """HTML of a picture."""

    def diagram(self, language: str) -> str:
        """HTML of a drawing that the page has as text."""


@dataclass
class Heading:
    """One heading, with the text below it, up to the next."""

    level: int
    title: str
    anchor: str
    text: list[str] = field(default_factory=list)


@dataclass
class Rendered:
    """A page's body, and what is in it."""

    html: str
    headings: list[Heading]
    problems: list[str]
    #: Of its widest table.
    columns: int


def rendered(text: str, links: Links) -> Rendered:
    """The HTML of a page."""
    parser = MarkdownIt("commonmark", renderer_cls=_Renderer).enable("table")
    tokens = parser.parse(text)
    problems: list[str] = []
    headings = _anchored(tokens)
    _gather(tokens, headings)
    columns = _labelled(tokens)
    env: dict[str, Any] = {"links": links, "problems": problems, "tokens": tokens}
    return Rendered(parser.renderer.render(tokens, parser.options, env), headings, problems, columns)


def anchor_of(title: str) -> str:
    """As GitHub makes them, so that a link works in both places."""
    return re.sub(r"[^\w -]", "", plain(title).lower()).replace(" ", "-")


def _anchored(tokens: Sequence[Token]) -> list[Heading]:
    """Give each heading its anchor."""
    found: list[Heading] = []
    seen: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            words = tokens[number + 1].content
            anchor = anchor_of(words)
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor += f"-{seen[anchor]}" if seen[anchor] else ""
            token.attrSet("id", anchor)
            found.append(Heading(int(token.tag[1]), plain(words), anchor))
    return found


def _gather(tokens: Sequence[Token], headings: list[Heading]) -> None:
    """Give each heading the words below it, for the search."""
    ahead = iter(headings)
    here: Heading | None = None
    is_heading = False
    for token in tokens:
        if token.type == "heading_open":
            here, is_heading = next(ahead), True
        elif token.type == "heading_close":
            is_heading = False
        elif here and not is_heading and token.type == "inline":
            here.text.append(plain(token.content))
        elif here and token.type in {"fence", "code_block"}:
            here.text.append(token.content)


def _labelled(tokens: Sequence[Token]) -> int:
    """Tell each cell the name of its column, which a phone shows beside it; the columns of the widest table."""
    names: list[str] = []
    at = most = 0
    opened: Token | None = None
    for number, token in enumerate(tokens):
        if token.type == "table_open":
            names, opened = [], token
        elif token.type == "tr_open":
            at = 0
        elif token.type == "th_open" and opened:
            names.append(plain(tokens[number + 1].content))
            opened.meta = {"columns": len(names)}
            most = max(most, len(names))
        elif token.type == "td_open":
            token.attrs = {"data-label": names[at]}
            at += 1
    return most


class _Renderer(RendererHTML):
    """How Tenure's pages are written."""

    def heading_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<{tokens[at].tag} id="{tokens[at].attrGet("id")}">'

    def heading_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        opened = next(token for token in reversed(tokens[:at]) if token.type == "heading_open")
        words = escape(plain(tokens[at - 1].content), quote=True)
        link = f'<a class="anchor" href="#{opened.attrGet("id")}" aria-label="Link to: {words}">#</a>'
        return f"{link}</{opened.tag}>\n"

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        language = token.info.strip()
        if language == "mermaid":
            drawn: str = env["links"].diagram(token.content)
            return drawn
        above = [one for one in tokens[:at] if one.type != "html_block"][-1:]
        is_output = (
            language == "text" and bool(above) and above[0].type == "fence" and above[0].info in {"python", "sh"}
        )
        return code_block(token.content, language, is_output=is_output)

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return code_block(tokens[at].content, "")

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        columns = tokens[at].meta["columns"]
        # Two columns fit on a phone, and five beside the list of headings.
        kind = "table stacks many" if columns > 5 else "table stacks" if columns > 2 else "table"  # noqa: PLR2004
        return f'<div class="{kind}" role="group" tabindex="0" aria-label="Table"><table>\n'

    def code_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f"<code>{_breakable(tokens[at].content)}</code>"

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        link = str(tokens[at].attrGet("href"))
        try:
            address = env["links"].resolve(link)
        except LookupError as problem:
            env["problems"].append(str(problem.args[0]))
            address = "#"
        return f'<a href="{escape(address, quote=True)}">'

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        try:
            drawn: str = env["links"].picture(str(token.attrGet("src")), token.content)
        except LookupError as problem:
            env["problems"].append(str(problem.args[0]))
            return ""
        return drawn

    def html_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self._refused(tokens[at], env)

    def html_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self._refused(tokens[at], env)

    @staticmethod
    def _refused(token: Token, env: Any) -> str:
        """Comments say how tests run a block, and are left out. Other HTML would look different elsewhere."""
        if not token.content.lstrip().startswith("<!--"):
            env["problems"].append(f"HTML in Markdown: {token.content.strip()[:60]}")
        return ""


def _breakable(code: str) -> str:
    """Long names may be broken where a reader would break them."""
    return re.sub(r"(?<=\w)([_./-]+)(?=\w)", r"\1<wbr>", escape(code)) if len(code) > 18 else escape(code)  # noqa: PLR2004


def code_block(code: str, language: str, *, is_output: bool = False, name: str = "") -> str:
    """A block of code with its name and a button that copies it."""
    named = _FILE.match(code)
    label = name or (named[1] if named else "")
    code = code[named.end() :] if named else code
    if is_output:
        return f'<div class="code output"><pre tabindex="0"><code>{escape(code)}</code></pre></div>\n'
    shown = highlighted(code, language="" if language == "text" else language, file=name)
    caption = f'<span class="file">{escape(label)}</span>' if label else ""
    button = '<button type="button" class="copy" hidden>Copy</button>'
    kind = f" {language}" if language else ""
    return f'<div class="code{kind}">{caption}{button}<pre tabindex="0"><code>{shown}</code></pre></div>\n'
