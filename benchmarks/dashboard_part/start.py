"""The start: from the navigation, with nothing in the cache, to a page that can be used."""

from typing import NamedTuple

from playwright.sync_api import Browser

from benchmarks.dashboard_part.page import SLOW_DOWN, measured

#: The sentence and five numbers are there; then the rail is clicked at once, and the next page's title is there.
_TIMES = """
globalThis.times = (async () => {
  const rail = () => document.querySelector('nav a[href$="/queues"]');
  const figures = () => document.querySelectorAll('#content [aria-label="Overview"] > *').length;
  const sentence = () => document.querySelector("#content p")?.textContent;
  const numbers = await painted(() => rail() && sentence() && figures() >= 5);
  rail().click();
  const clicked = await painted(() => document.querySelector("h1")?.textContent.startsWith("Queues"));
  return { numbers, clicked };
})();
"""


class Start(NamedTuple):
    """One start."""

    #: The overview's sentence and numbers are painted, ms.
    shown_ms: float
    #: And a click on the rail, made at that moment, is answered, ms.
    usable_ms: float
    #: What the page's main thread worked meanwhile, ms.
    worked_ms: float


def start(browser: Browser, url: str, rate: float = SLOW_DOWN) -> Start:
    """Open the overview in a browser that was never here."""
    with measured(browser) as page:
        page.slow_down(rate)
        page.page.add_init_script(_TIMES)
        page.page.goto(url, wait_until="commit")
        times = page.page.evaluate("() => times")
        return Start(times["numbers"], times["clicked"], page.worked_seconds() * 1e3)
