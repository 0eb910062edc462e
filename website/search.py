"""What the search looks through: one row for each heading of a page, in a script that a page loads from any folder.

A row: address, title of the page, heading, section of the site, text. A script and not JSON, because a page that is
opened from a folder may load the one and not the other.
"""

import json
import re

from website.render import Heading
from website.tree import Page


def rows_of(page: Page, headings: list[Heading]) -> list[list[str]]:
    """The rows of a page."""
    return [
        [
            page.address + (f"#{heading.anchor}" if heading.level > 1 else ""),
            page.title,
            heading.title if heading.level > 1 else "",
            page.section,
            re.sub(r"\s+", " ", " ".join(heading.text)).strip(),
        ]
        for heading in headings
    ]


def script_of(rows: list[list[str]]) -> str:
    """The script."""
    return f"window.tenureSearch({json.dumps(rows, ensure_ascii=False, separators=(',', ':'))});\n"
