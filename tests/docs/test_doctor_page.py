"""The page of the doctor names every finding that the code can make, and no other."""

import re
from pathlib import Path

import tenure

from .markdown import ROOT

_SOURCE = Path(tenure.__file__).parent
_MADE = re.compile(r'Finding\(\s*f?"([a-z_]+?)(?:\{|")')
_NAMED = re.compile(r"^\| `([a-z_]+)…?` \|", re.MULTILINE)


def test_every_finding_is_in_the_page() -> None:
    folders = [_SOURCE / "rules", _SOURCE / "client" / "operations" / "doctor", *(_SOURCE / "adapters").iterdir()]
    files = [file for folder in folders if folder.is_dir() for file in folder.glob("*.py")]
    made = {id for file in files for id in _MADE.findall(file.read_text(encoding="utf-8"))}
    page = (ROOT / "docs" / "reference" / "doctor.md").read_text(encoding="utf-8")
    named = {*_NAMED.findall(page.partition("## Findings")[2].partition("## What it does not see")[0])}
    assert made == named
