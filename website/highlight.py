"""Code with its words marked, when the site is built: the page needs no program for it."""

from html import escape

from pygments import highlight as marked
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

_FORMAT = HtmlFormatter(nowrap=True)


def highlighted(code: str, *, language: str = "", file: str = "") -> str:
    """HTML of the code, by its language or by the name of its file; plain where neither is known."""
    try:
        lexer = get_lexer_by_name(language) if language else get_lexer_for_filename(file)
    except ClassNotFound:
        return escape(code)
    lexer.stripnl = False
    return marked(code, lexer, _FORMAT)
