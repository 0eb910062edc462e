"""Pictures of every page, in both themes and at phone width, into build/screenshots: `make screenshots`.

python -m tests.dashboard.screenshots [folder] [page ...]
"""

import sys
from pathlib import Path

from tests.dashboard.browser import launched
from tests.dashboard.stage import PAGES, staged

_SIZES = {"light": ("light", 1360, 860), "dark": ("dark", 1360, 860), "phone": ("light", 390, 844)}


def main(folder: Path, names: list[str]) -> None:
    """Make them."""
    folder.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        for kind, (theme, width, height) in _SIZES.items():
            for name in names:
                with staged(browser, theme=theme, width=width, height=height) as stage:
                    stage.open(PAGES[name])
                    if name == "message":
                        stage.page.get_by_role("button", name="Stack now").click()
                        stage.settle()
                    stage.page.screenshot(path=folder / f"{name}-{kind}.png")
                    for complaint in stage.complaints:
                        print(f"{name}-{kind}: {complaint}")  # noqa: T201 - a program for people


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "build/screenshots"), given[1:] or list(PAGES))
