"""docs/reference/monitoring.md is made from the catalogue."""

from .markdown import ROOT
from .monitoring_page import page

PAGE = ROOT / "docs" / "reference" / "monitoring.md"


def test_the_page_is_made_from_the_catalogue() -> None:
    made = "python -m tests.docs.monitoring_page > docs/reference/monitoring.md"
    assert PAGE.read_text(encoding="utf-8") == page(), made
