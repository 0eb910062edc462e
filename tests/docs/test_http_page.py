"""docs/reference/http.md is what the routes say."""

from tenure.server.routes import ROUTES

from .http_page import page
from .markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "http.md"


def test_the_page_is_made_of_the_routes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.docs.http_page > docs/reference/http.md"


def test_every_route_has_its_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for route in ROUTES:
        assert text.count(f"\n### {route.method} {route.path}\n") == 1
