"""Copies the runbooks to where the server reads them, in a checkout and in the wheel: `make reference` runs it."""

from .markdown import ROOT

WRITTEN = ROOT / "docs" / "runbooks"
SERVED = ROOT / "src" / "tenure" / "server" / "runbooks"

if __name__ == "__main__":
    SERVED.mkdir(exist_ok=True)
    for old in SERVED.glob("*.md"):
        old.unlink()
    for page in WRITTEN.glob("*.md"):
        (SERVED / page.name).write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
