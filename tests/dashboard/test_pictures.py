"""The committed pictures are such that a change of the page is seen. The pages are compared with them in `test_pages`.

There they are not where npm's Chromium is not installed; then this file is skipped and says so, and in CI a skip fails.
"""

import pytest
from playwright.sync_api import Browser
from tests.dashboard import pictures
from tests.dashboard.browser import pinned_chromium
from tests.dashboard.stage import PAGES, staged

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(pinned_chromium() is None, reason="pictures need npm's Chromium: `make .venv/.npm`"),
]


def test_one_other_digit_is_another_picture(browser: Browser) -> None:
    with staged(browser) as stage:
        stage.open(PAGES["overview"])
        before = pictures.taken(stage)
        assert pictures.compare(stage.page, before, pictures.taken(stage)).pixels == 0
        assert stage.page.evaluate(
            """() => {
              const walker = document.createTreeWalker(document.querySelector("table tbody"), NodeFilter.SHOW_TEXT);
              while (walker.nextNode()) {
                const text = walker.currentNode;
                if (text.data.includes("1")) return (text.data = text.data.replace("1", "7"));
              }
            }"""
        )
        found = pictures.compare(stage.page, before, pictures.taken(stage))
        assert found.pixels > pictures.OTHER_PIXELS


def test_the_committed_pictures_are_those_that_are_compared_and_small() -> None:
    files = {path.stem: path.stat().st_size for path in pictures.FOLDER.glob("*.png")}
    assert files.keys() == pictures.PICTURES.keys()
    assert sum(files.values()) <= 1_500_000
