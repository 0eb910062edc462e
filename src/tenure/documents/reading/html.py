"""HTML: the text of its body, with its headings; scripts, styles, menus and forms are left out."""

import re
from html.parser import HTMLParser

from tenure.documents.chunk import Part

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "figure", "figcaption", "footer", "header", "hr",
    "li", "main", "ol", "p", "pre", "section", "table", "td", "th", "title", "tr", "ul",
}  # fmt: skip
_LEFT_OUT = {"script", "style", "template", "noscript", "nav", "form", "svg", "math", "select", "button", "iframe"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Part] = []
        self.title = ""
        self._headings: list[str] = []
        self._words: list[str] = []
        self._hidden: list[str] = []
        self._is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - of the parser
        if tag in _LEFT_OUT:
            self._hidden.append(tag)
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._end_block()
            self._is_code = tag == "pre"
        elif tag == "br":
            self._words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            # A page that never closes its menu loses the rest; one that closes it out of order does not.
            if tag in self._hidden:
                del self._hidden[self._hidden.index(tag) :]
        elif tag in _HEADINGS:
            heading = self._take()
            if heading:
                self._headings = [*self._headings[: _HEADINGS[tag] - 1], heading]
        elif tag == "title":
            self.title = self._take() or self.title
        elif tag in _BLOCKS:
            self._end_block()
            self._is_code = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(data)

    def close(self) -> None:
        super().close()
        self._end_block()

    def _end_block(self) -> None:
        text = self._take()
        if text:
            self.parts.append(Part(text, tuple(self._headings)))

    def _take(self) -> str:
        text = "".join(self._words)
        self._words.clear()
        return text.strip("\n") if self._is_code else re.sub(r"[ \t\r\f\v\n]+", " ", text).strip()


def read_html(text: str) -> list[Part]:
    """The paragraphs of a page. The title of the page stands above a page that has no first heading."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    title = reader.title
    return [part if part.headings or not title else Part(part.text, (title,)) for part in reader.parts]
