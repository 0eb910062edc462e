"""The pictures that the dashboard is compared with: a few pages, in both themes and at phone width, in `pictures/`.

`make screenshots ARGS=--update` makes them anew. Look at the difference before they are committed.
"""

import base64
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page
from tests.dashboard.stage import PAGES, Stage, staged

FOLDER = Path(__file__).parent / "pictures"
#: A picture: a page, its theme, and the window.
PICTURES = {
    **{f"{name}-{theme}": (name, theme, 1360, 860)
       for name in ("overview", "leases", "messages", "message-dead", "dead") for theme in ("light", "dark")},
    **{f"{name}-phone": (name, "light", 390, 844) for name in ("overview", "leases")},
}  # fmt: skip
#: Where one that is not as it was is put, to be looked at.
SHOWN = Path(__file__).parents[2] / "build" / "differences"
#: Round corners and slanted lines are blended by rounding, a little differently on another CPU: so far a pixel may be
#: off in one of its colours, of 255, and is the same; and so many of a picture's 330,000 to 1,170,000 may not be.
#: One other digit is more.
SAME_COLOUR, OTHER_PIXELS = 24, 12
#: A page that is not as it was is looked at again: five times in 2 s.
_LOOKS, _LOOK_MS = 5, 400

_COMPARE = """async ([one, other, tolerance]) => {
  const read = async (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const [was, is] = await Promise.all([read(one), read(other)]);
  const whole = [0, 0, is.width, is.height];
  if (was.width !== is.width || was.height !== is.height) return { pixels: is.width * is.height, box: whole };
  let pixels = 0, box = [is.width, is.height, 0, 0];
  for (let at = 0; at < is.data.length; at += 4) {
    if ([0, 1, 2].every((colour) => Math.abs(was.data[at + colour] - is.data[at + colour]) <= tolerance)) continue;
    const [x, y] = [(at / 4) % is.width, Math.floor(at / 4 / is.width)];
    box = [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)];
    pixels += 1;
  }
  return { pixels, box };
}"""


class Difference(NamedTuple):
    """Between two pictures."""

    #: Of another colour.
    pixels: int
    #: Left, top, right, bottom of all of them.
    box: tuple[int, ...]


def take(browser: Browser, name: str) -> bytes:
    """One of `PICTURES`, as the dashboard is now."""
    page, theme, width, height = PICTURES[name]
    with staged(browser, theme=theme, width=width, height=height) as stage:
        stage.open(PAGES[page])
        return taken(stage)


def taken(stage: Stage) -> bytes:
    """The page as it is, when all of it is drawn."""
    stage.page.evaluate("() => document.fonts.ready")
    return stage.page.screenshot(animations="disabled", caret="hide")


def assert_as_committed(stage: Stage, name: str) -> None:
    """The page looks as in the picture of this name, once it is drawn: a plot is, a frame or two after its theme."""
    committed = (FOLDER / f"{name}.png").read_bytes()
    now = taken(stage)
    found = compare(stage.page, committed, now)
    for _ in range(_LOOKS):
        if found.pixels <= OTHER_PIXELS:
            return
        stage.page.wait_for_timeout(_LOOK_MS)
        now = taken(stage)
        found = compare(stage.page, committed, now)
    if found.pixels <= OTHER_PIXELS:
        return
    SHOWN.mkdir(parents=True, exist_ok=True)
    (SHOWN / f"{name}.png").write_bytes(now)
    msg = (
        f"{name}: {found.pixels} pixels are others, within {found.box}; what it is now is in build/differences. "
        "Is it meant? make screenshots ARGS=--update"
    )
    raise AssertionError(msg)


def compare(page: Page, one: bytes, other: bytes) -> Difference:
    """What is different; `page` only does the arithmetic."""
    given = [base64.b64encode(one).decode(), base64.b64encode(other).decode(), SAME_COLOUR]
    found: dict[str, Any] = page.evaluate(_COMPARE, given)
    return Difference(found["pixels"], tuple(found["box"]))


def update(browser: Browser) -> None:
    """Make the committed ones anew."""
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.png").write_bytes(take(browser, name))
    for path in FOLDER.glob("*.png"):
        if path.stem not in PICTURES:
            path.unlink()
