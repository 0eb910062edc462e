"""A page of another origin follows a message by a link, in a real browser, until it has ended."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import tests.cli.process
from tests.cli.process import started

from tenure import Tenure

from .attacks.browser import browsing
from .attacks.other_site import other_site
from .serving import served

pytestmark = pytest.mark.scenario

JOBS = """
import asyncio
from pathlib import Path

from tenure import Context, Tenure

app = Tenure("sqlite:///{place}")


@app.task
async def report(ctx: Context) -> dict[str, str]:
    ctx.progress(0.5, "page 5 of 10")
    while not Path("{goes_on}").exists():
        await asyncio.sleep(0.05)
    return {{"file": "may.pdf"}}
"""

#: What a page of a site would do.
FOLLOW = """
(link) => {
  window.met = []
  const source = new EventSource(link)
  source.onerror = () => met.push({ error: source.readyState })
  source.addEventListener("update", (event) => met.push(JSON.parse(event.data)))
  source.addEventListener("ended", (event) => { source.close(); met.push(JSON.parse(event.data)) })
}
"""
NOTE = "() => met.some((one) => one.progress?.note === 'page 5 of 10')"
ENDED = "() => met.some((one) => one.state === 'completed')"
#: EventSource.CLOSED: it was refused, and does not come back.
REFUSED = "() => met.some((one) => one.error === 2)"


def test_a_page_of_a_named_origin_follows_a_message_and_another_does_not(tmp_path: Path) -> None:
    goes_on = tmp_path / "goes-on"
    (tmp_path / "watched.py").write_text(JOBS.format(place=tmp_path / "jobs.db", goes_on=goes_on))
    paths = f"{tests.cli.process._SOURCE}:{tmp_path}"
    with (
        other_site() as site,
        served("watched:app", PYTHONPATH=paths, TENURE_SERVER_ORIGINS=f"http://app.example:{site.port}") as (_, client),
        started("worker", "watched:app", PYTHONPATH=paths),
    ):
        link = _link(client, f"sqlite:///{tmp_path / 'jobs.db'}")
        with browsing(("app.example", "evil.example")) as browser:
            pages = [browser.new_context().new_page() for _ in range(2)]
            for page, host in zip(pages, ("app.example", "evil.example"), strict=True):
                page.goto(f"http://{host}:{site.port}/")
                page.evaluate(FOLLOW, link)
            named, other = pages
            named.wait_for_function(NOTE)
            other.wait_for_function(REFUSED)
            goes_on.touch()
            named.wait_for_function(ENDED)
            met: list[dict[str, Any]] = named.evaluate("() => met")
            assert met[-1]["result"] == {"file": "may.pdf"}
            assert other.evaluate("() => met.every((one) => !one.state)")


def _link(client: httpx.Client, url: str) -> str:
    """A link to a new message of a server that, from now on, does not let in everything on this machine."""
    sent = client.post("/api/v1/tasks/report/submit", json={"payload": {}})
    assert sent.status_code == 201
    made = client.post("/api/v1/tokens", json={"name": "operator", "scopes": ["read"]})
    assert made.status_code == 201
    app = Tenure(url)
    try:
        return app.handle_sync(sent.json()["id"]).watch_url(result=True, server=str(client.base_url))
    finally:
        app.close_sync()
