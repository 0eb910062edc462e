"""The picture of fairness shows what was measured."""

import json

from benchmarks.clients_part.fairness import DATA, PICTURE, draw

from .markdown import ROOT


def test_the_picture_is_made_of_the_measured_data() -> None:
    data = json.loads(DATA.read_text(encoding="utf-8"))
    assert PICTURE.read_text(encoding="utf-8") == draw(data), "run: python -m benchmarks.clients_part.fairness draw"
    page = (ROOT / "docs" / "explanation" / "fairness.md").read_text(encoding="utf-8")
    ends = [f"{data[how]['acme'][-1]:.0f} and {data[how]['globex'][-1]:.0f} seconds" for how in ("in-turn", "fair")]
    for end in ends:
        assert end in page


def test_the_measured_shares_are_fair() -> None:
    fair = json.loads(DATA.read_text(encoding="utf-8"))["fair"]
    shares = [values[-1] for values in fair.values()]
    assert min(shares) >= 0.85 * max(shares)
