"""Pictures of every page and state, in both themes and at phone width, into build/screenshots: `make screenshots`.

python -m tests.dashboard.screenshots [--update] [folder] [page ...]

`--update`: instead, make those anew that tests compare with (`pictures.py`), and those that README and docs show.
"""

import sys
from pathlib import Path

from tests.dashboard import pictures
from tests.dashboard.browser import launched, pinned_chromium
from tests.dashboard.stage import PAGES, staged
from tests.dashboard.states import STATES, show

#: What README and docs show, at one and a half pixels a point.
_SHOWN, _SHOWN_FOLDER, _SHOWN_SCALE = ("overview", "leases", "task"), Path("docs/pictures"), 1.5
_SIZES = {"light": ("light", 1360, 860), "dark": ("dark", 1360, 860), "phone": ("light", 390, 844)}


def main(folder: Path, names: list[str]) -> None:
    """Make them."""
    folder.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        for kind, (theme, width, height) in _SIZES.items():
            for name in names:
                answers = STATES[name].answers if name in STATES else None
                with staged(browser, theme=theme, width=width, height=height, answers=answers) as stage:
                    if name in STATES:
                        show(stage, STATES[name])
                    else:
                        stage.open(PAGES[name])
                    if name == "message":
                        stage.page.get_by_role("button", name="Stack now").click()
                        stage.settle()
                    stage.page.screenshot(path=folder / f"{name}-{kind}.png")
                    # What is answered with an error is told by the browser too.
                    for complaint in () if name in STATES else stage.complaints:
                        print(f"{name}-{kind}: {complaint}")  # noqa: T201 - a program for people


def update() -> None:
    """Make the committed ones anew, with the browser that every machine has."""
    if pinned_chromium() is None:
        sys.exit(
            "the pictures are made with npm's Chromium: run `make .venv/.npm`, and do not set TENURE_TEST_CHROMIUM"
        )
    with launched() as browser:
        pictures.update(browser)
        for name in _SHOWN:
            # The website of the documents shows the dark one to readers who chose dark.
            for theme, ending in (("light", ""), ("dark", "-dark")):
                with staged(browser, theme=theme, device_scale_factor=_SHOWN_SCALE) as stage:
                    stage.open(PAGES[name])
                    (_SHOWN_FOLDER / f"{name}{ending}.png").write_bytes(pictures.taken(stage))


if __name__ == "__main__":
    given = sys.argv[1:]
    if "--update" in given:
        update()
    else:
        main(Path(given[0] if given else "build/screenshots"), given[1:] or [*PAGES, *STATES])
