"""The blocks of a Markdown page, with what the page says about running them.

A block may be marked by a comment in the line above it:

    <!-- run: raises PayloadInvalid -->   python that must end in that error
    <!-- run: exits 2 -->                 a shell block that must end with that code
    <!-- run: until it shows -->          a look that is repeated until it shows the text below it
    <!-- not run: why -->                 a block that a test cannot run
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Every page with blocks that readers may paste. How-to pages and the like are found by themselves.
PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")])

_FENCED = re.compile(
    r"(?:^<!-- (?P<mark>(?:not )?run): (?P<word>.+?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    language: str
    code: str
    #: What `run:` says; empty: nothing.
    how: str = ""
    #: Why it is not run; empty: it is.
    why_not: str = ""
    #: What the `text` block right below it shows. None: there is none.
    shows: str | None = None

    @property
    def file(self) -> str | None:
        """The name of the file that it is, by its first line."""
        named = re.match(r"# (\w+\.py)\n", self.code)
        return named[1] if named else None

    @property
    def place(self) -> str:
        """Where people find it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order; a `text` block right below another is what that one shows."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in _FENCED.finditer(text):
        is_output = match["language"] == "text" and found and not text[end : match.start()].strip()
        if is_output and found[-1].language in ("python", "sh"):
            last = found.pop()
            found.append(Block(page, last.line, last.language, last.code, last.how, last.why_not, match["code"]))
        else:
            line = text.count("\n", 0, match.start()) + 1
            word = {match["mark"]: match["word"]}
            how, why_not = word.get("run", ""), word.get("not run", "")
            found.append(Block(page, line, match["language"], match["code"], how, why_not))
        end = match.end()
    return found


def matches(shown: str, said: str) -> bool:
    """Whether output is as a page shows it: `…` stands for anything in a line, or nothing, and alone for any lines."""
    pattern = "".join("(?:.*\n)*?" if line.strip() == "…" else _pattern(line) for line in shown.splitlines())
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in said.rstrip().splitlines())) is not None


def _pattern(line: str) -> str:
    # Between words one blank is enough, where nothing stands between them.
    return ".*?".join(map(re.escape, line.rstrip().replace(" … ", " …").split("…"))) + "\n"
