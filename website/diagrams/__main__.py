"""`python -m website.diagrams`: write every drawing into docs/pictures."""

from pathlib import Path

from website.diagrams import DRAWINGS

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

for name, draw in DRAWINGS.items():
    (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
