"""One table of 100,000 rows: how long until what somebody does is painted.

The server answers at most 1,000 rows at once; the table here gets all of them in one answer, on the tests' stage.
"""

from playwright.sync_api import Browser, Page
from tests.dashboard.invented_store import many_messages
from tests.dashboard.stage import Answer, staged

from benchmarks.dashboard_part.page import prepared

ROWS = 100_000
#: The answer has one row, and the page takes it for so many: Playwright's driver takes a minute for 25 MB.
_MANY = """
const ask = fetch;
globalThis.fetch = async (address, ...more) => {
  const answer = await ask(address, ...more);
  if (!String(address).includes("/api/v1/messages?")) return answer;
  const page = await answer.json();
  const row = (_, place) => ({ ...page.messages[0], id: place.toString(16).padStart(32, "0") });
  return Response.json({ ...page, messages: Array.from({ length: %d }, row) });
};
"""
#: What is done, and when it is answered. Each leaves the page as it was for the next one.
_ACTS = {
    "scroll to the middle": (
        "() => document.getElementById('content').scrollTo(0, 1_600_000)",
        "() => [...document.querySelectorAll('tr[data-row]')].some((one) => +one.ariaRowIndex > 40_000)",
    ),
    "scroll on by a window": (
        """() => {
          globalThis.last = document.querySelector('tr[data-row]').ariaRowIndex;
          document.getElementById('content').scrollBy(0, 800);
        }""",
        "() => document.querySelector('tr[data-row]').ariaRowIndex !== last",
    ),
    "choose a row": (
        "() => document.querySelectorAll('tr[data-row] input')[20].click()",
        "() => document.querySelectorAll('tr.is-chosen').length === 1",
    ),
    "choose all rows": (
        "() => document.querySelector('thead input').click()",
        "() => document.querySelectorAll('tr.is-chosen').length > 20",
    ),
    "choose none": (
        "() => document.querySelector('thead input').click()",
        "() => document.querySelectorAll('tr.is-chosen').length === 0",
    ),
    "open a row": (
        "() => document.querySelectorAll('tr[data-row]')[20].click()",
        "() => document.querySelectorAll('tr.is-open').length === 1 && !!document.querySelector('aside')",
    ),
    "close it": (
        "() => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))",
        "() => !document.querySelector('aside')",
    ),
    "move to the next row": (
        """() => {
          const row = document.querySelectorAll('tr[data-row]')[20];
          row.focus();
          row.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
        }""",
        "() => document.activeElement === document.querySelectorAll('tr[data-row]')[21]",
    ),
}
#: A letter in the search field, as it is typed: it is painted, whatever then becomes of the rows.
_TYPE = (
    "() => document.execCommand('insertText', false, 'x')",
    "() => document.querySelector('#content [data-search]').value.includes('x')",
)


def interactions(browser: Browser, rounds: int) -> dict[str, list[float]]:
    """Milliseconds from each act to the frame that shows it."""
    rows = many_messages(1)
    took: dict[str, list[float]] = {name: [] for name in (*_ACTS, "type a letter of a filter")}
    answers: dict[str, Answer] = {"/messages": lambda _: rows, "/events/stream": lambda _: None}
    with staged(browser, answers=answers, is_still=False) as stage:
        prepared(stage.page)
        stage.page.add_init_script(_MANY % ROWS)
        stage.open("/messages")
        for _ in range(rounds):
            stage.page.evaluate("() => document.getElementById('content').scrollTo(0, 0)")
            for name, (act, holds) in _ACTS.items():
                took[name].append(_answered(stage.page, act, holds))
        for _ in range(rounds):
            stage.page.locator("#content [data-search]").fill("")
            stage.page.wait_for_selector(f'table[aria-rowcount="{ROWS + 1}"]')
            took["type a letter of a filter"].append(_answered(stage.page, *_TYPE))
    return took


def _answered(page: Page, act: str, holds: str) -> float:
    return float(page.evaluate(f"() => answered({act}, {holds})"))
