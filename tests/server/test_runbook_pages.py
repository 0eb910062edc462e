"""Runbooks in a browser: each is there, its links lead to others, and nothing else of the documentation is named."""

import re

import pytest

from tenure import Tenure
from tenure.monitoring.catalogue import RUNBOOKS
from tenure.server.markdown import as_html
from tenure.testing.virtual import VirtualClock

from .asking import serving


async def test_every_runbook_is_a_page_and_its_links_lead_to_pages(virtual_clock: VirtualClock) -> None:
    async with serving(Tenure("memory://", clock=virtual_clock)) as (_, client):
        index = await client.get("/runbooks/")
        assert index.status_code == 200
        assert index.headers["content-type"].startswith("text/html")
        asked = {f"/runbooks/{one.id}" for one in RUNBOOKS}
        assert asked <= set(re.findall(r'href="([^"]+)"', index.text))
        for path in sorted(asked | {"/runbooks/troubleshooting"}):
            page = await client.get(path)
            assert page.status_code == 200, path
            assert "<h2>What to do</h2>" in page.text or path.endswith("troubleshooting")
            assert "script" not in page.text
            inside = set(re.findall(r'href="(/runbooks/[^"]+)"', page.text))
            assert inside - {"/runbooks/"} <= asked | {"/runbooks/troubleshooting"}
        assert (await client.get("/runbooks/nothing")).status_code == 404
        tag = index.headers["etag"]
        assert (await client.get("/runbooks/", headers={"if-none-match": tag})).status_code == 304


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A <b>", "<h1>A &lt;b&gt;</h1>"),
        ("a `b<c` and **d**", "<p>a <code>b&lt;c</code> and <strong>d</strong></p>"),
        ("- one\n  more\n- two", "<ul><li>one\n  more</li><li>two</li></ul>"),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
        ),
        ("```sh\nls <a>\n```", "<pre><code>ls &lt;a&gt;</code></pre>"),
        ("[in](x.md), [`out`](../y.md)", '<p><a href="/x">in</a>, <code>out</code></p>'),
        ("<!-- hidden -->\nseen", "<p>seen</p>"),
    ],
)
def test_markdown_as_the_runbooks_use_it(text: str, html: str) -> None:
    assert as_html(text, {"x.md": "/x"}.get) == html
