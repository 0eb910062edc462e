"""A page of a browser under measurement: how slow its CPU is made, when something is painted, what it worked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

#: What the bars speak of.
SLOW_DOWN = 4.0
#: `painted(holds)`: the moment after the first frame in which something holds, in milliseconds since the navigation.
#: `answered(act, holds)`: milliseconds from an act to that frame. A message to oneself comes after the paint.
_PAINTED = """
globalThis.painted = (holds) => new Promise((done) => {
  const behind = () => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(null);
  };
  const look = () => requestAnimationFrame(() => (holds() ? behind() : look()));
  look();
});
globalThis.answered = async (act, holds) => {
  await painted(() => true);
  const began = performance.now();
  act();
  return (await painted(holds)) - began;
};
"""


class Measured:
    """One page."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        """Made by `measured`."""
        self.page = page
        self._session = session

    def slow_down(self, rate: float) -> None:
        """The CPU of the page, by so much."""
        self._session.send("Emulation.setCPUThrottlingRate", {"rate": rate})

    def worked_seconds(self) -> float:
        """What its main thread worked so far."""
        return self._metric("TaskDuration")

    def heap_mb(self) -> float:
        """What its scripts keep, after what they do not keep is collected."""
        self._session.send("HeapProfiler.collectGarbage")
        return self._metric("JSHeapUsedSize") / 1e6

    def _metric(self, name: str) -> float:
        found: list[dict[str, Any]] = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == name))


@contextmanager
def measured(browser: Browser) -> Iterator[Measured]:
    """A page with nothing in its cache."""
    context = browser.new_context(viewport={"width": 1360, "height": 860})
    try:
        page = context.new_page()
        yield prepared(page)
    finally:
        context.close()


def prepared(page: Page) -> Measured:
    """A page that exists already, before it is opened."""
    page.add_init_script(_PAINTED)
    session = page.context.new_cdp_session(page)
    # By the CPU time of the thread: what else the machine does is not counted.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return Measured(page, session)
