"""The content pipeline: run as a user who copied the folder, with every service killed; and what its parts promise."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from content_pipeline.article import Article
from content_pipeline.before.storage_queue import StorageQueue
from content_pipeline.rehearsal.count import Count, Expected
from content_pipeline.rehearsal.outcome import FEEDS
from content_pipeline.settings import Settings
from content_pipeline.work.catalogue import catalogue, enter_publication, story_of
from content_pipeline.work.check import check_site
from content_pipeline.work.feed import BrokenFeed, parse_feed
from content_pipeline.work.markdown import as_html, as_markdown
from content_pipeline.work.page import page_of, read_page, write_page
from content_pipeline.work.site import BrokenSite, build_site, publish_release
from content_pipeline.work.summary import extract, summarise

from tenure import Retry

from .program import EXAMPLES, environment

FOLDER = EXAMPLES / "content_pipeline"


def run_pipeline(folder: Path, *arguments: str, **more: str) -> list[str]:
    """Run a copy of the folder in `folder`, to its good end; the lines that it printed."""
    shutil.copytree(FOLDER, folder / "content_pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "content_pipeline", "--folder", "trial", *arguments]
    ended = subprocess.run(
        command, cwd=folder, env=environment() | {"PIPELINE_SCALE": "900"} | more, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout.splitlines()


def check_run(lines: list[str], site: Path) -> None:
    """Every service was killed, and readers got everything once."""
    killed = [match[1] for line in lines if (match := re.search(r"kill -9 ([\w-]+), with [1-9]", line))]
    assert sorted(killed) == ["content-collector", "content-processor", "markdown-generator", "site-publisher"]
    aside = sorted(line.split()[2] for line in lines if "put aside: " in line)
    assert aside == ["old-mill.xml", "parish.atom", "tideline.xml"]
    (asked,) = [int(match[1]) for line in lines if (match := re.search(r"(\d+) messages? asked for \d", line))]
    assert asked < 60  # 210 publications did
    assert "          webhooks that came: 1" in lines
    assert lines[-1] == "pages 200 · duplicates 0 · lost 0"
    assert check_site(site) == []


@pytest.mark.scenario
@pytest.mark.timeout(1000)
def test_a_copied_folder_runs_and_loses_nothing_though_every_service_is_killed(tmp_path: Path) -> None:
    lines = run_pipeline(tmp_path)
    after = tmp_path / "trial" / "after"
    check_run(lines, after / "public")
    assert (after / "public").is_symlink()
    assert len(list((after / "releases").iterdir())) == 1  # 200 pages, and one build
    assert len(parse_feed((after / "public" / "feed.xml").read_bytes())) == 30
    pages = [read_page(path) for path in (after / "content").glob("*.md")]
    assert len(pages) == 200
    assert sum(page.is_revised for page in pages) == 10
    # The count bites: what is missing is lost, and a line that is there twice is a duplicate.
    expected, log = Expected(FEEDS), after / "public" / "log" / "index.html"
    lines_of_log = re.findall(r"<li data-guid.*?</li>", log.read_text())
    log.write_text(log.read_text().replace(lines_of_log[0], lines_of_log[0] * 2))
    shutil.rmtree(after / "public" / "articles" / re.findall(r'articles/([^"]+)/"', lines_of_log[-1])[0])
    counted = expected.compare(after / "public")
    assert (counted.pages, counted.duplicates) == (199, 1)
    assert counted.lost in {1, 2}  # the story, and its correction if there is one
    assert expected.compare(after / "nothing") == Count(0, 0, 210)


def test_the_feeds_hold_what_the_page_says() -> None:
    expected = Expected(FEEDS)
    assert len(set(expected.story_of.values())) == 200
    assert len(expected.story_of) - 200 == 20  # near-copies
    assert sum(article.is_corrected for article in expected.articles) == 10
    assert [feed.name for feed in expected.broken] == ["old-mill.xml", "parish.atom", "tideline.xml"]
    told = sum(len(parse_feed(feed.read_bytes())) for feed in FEEDS if feed not in expected.broken)
    assert told - len(expected.articles) == 70  # come twice
    page = " ".join((FOLDER / "README.md").read_text().split())
    assert "200 articles, 20 near-copies of them, 10 corrections, 70 that come twice" in page


def test_links_of_its_page_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (FOLDER / "README.md").read_text())
    assert len(links) > 8
    assert all((FOLDER / link).exists() for link in links)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"<rss><channel><title>x</title>", "not well-formed"),
        (b"<!DOCTYPE html><html></html>", "document type"),
        (b"<opml/>", "neither RSS 2.0 nor Atom"),
        (b"<rss><channel><title>Empty</title></channel></rss>", "no entries"),
        (b"<rss><channel><item><title>x</title><pubDate>soon</pubDate></item></channel></rss>", "soon"),
    ],
)
def test_a_broken_feed_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(BrokenFeed, match=reason):
        parse_feed(raw)


def test_of_an_entry_that_is_there_twice_the_newest_counts() -> None:
    entry = "<entry><id>1</id><title>{0}</title><updated>2026-11-{0}T10:00:00Z</updated><content>text</content></entry>"
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{entry.format(19)}{entry.format(12)}</feed>'
    (article,) = parse_feed(feed.encode())
    assert article.title == "19"


def test_an_entry_that_cannot_be_read_does_not_cost_the_others() -> None:
    good = "<item><guid>1</guid><title>One</title><description>text</description>{}</item>"
    dated = good.format("<pubDate>Thu, 19 Nov 2026 10:00:00 +0000</pubDate>")
    feed = f"<rss><channel>{dated}{good.format('')}{dated.replace('text', '')}</channel></rss>"
    assert [article.title for article in parse_feed(feed.encode())] == ["One"]


def _article(**more: Any) -> Article:
    (first, *_) = parse_feed((FOLDER / "feeds" / "morning" / "harbour.xml").read_bytes())
    return replace(first, **more)


def test_a_near_copy_is_the_same_story_and_another_article_is_not(tmp_path: Path) -> None:
    article = _article()
    words = (article.paragraphs[0].replace("the", "our"), *article.paragraphs[1:])
    other = parse_feed((FOLDER / "feeds" / "morning" / "sky.xml").read_bytes())[0]
    with catalogue(tmp_path) as db:
        assert story_of(db, article) == article.guid
        assert story_of(db, replace(article, guid="copy", paragraphs=words)) == article.guid
        assert story_of(db, other) == other.guid


def test_the_key_of_an_article_changes_with_its_words() -> None:
    assert _article().key == _article().key
    assert _article().key != _article(title="Corrected").key


def test_a_page_shows_its_newest_version_in_whatever_order_they_come(tmp_path: Path) -> None:
    article = _article()
    late = replace(article, title="Corrected: 1 < 2", updated=article.updated.replace(year=2027))
    with catalogue(tmp_path) as db:
        enter_publication(db, late, "summary")
        enter_publication(db, article, "older")
        page = page_of(db, article.guid)
        write_page(tmp_path, page)
    assert page.title == "Corrected: 1 < 2"
    assert read_page(tmp_path / "content" / f"{page.name}.md") == page


def test_text_of_a_feed_cannot_become_html() -> None:
    text = "5 * 4 < 21 <script>alert(1)</script> [x](javascript:alert(1)) `a` _b_"
    assert as_html(as_markdown([text])) == f"<p>{text.replace('<', '&lt;').replace('>', '&gt;')}</p>"
    assert as_html("[x](javascript:alert) and [y](https://example.org/?a=1&b=2)") == (
        '<p>x and <a href="https://example.org/?a=1&amp;b=2">y</a></p>'
    )


def test_a_summary_begins_with_what_happened() -> None:
    article = _article()
    summary = extract(" ".join(article.paragraphs))
    assert summary.startswith(article.paragraphs[0].split(". ", maxsplit=1)[0])
    assert len(re.findall(r"[.!?](?=\s|$|\")", summary)) >= 2


def _built(folder: Path, titles: list[str]) -> Path:
    for number, title in enumerate(titles):
        with catalogue(folder) as db:
            enter_publication(db, _article(guid=title, title=title), f"summary {number}")
            write_page(folder, page_of(db, title))
    release = build_site(folder, "https://news.example.org")
    publish_release(folder, release)
    return release.path


def test_a_site_is_replaced_in_one_step_and_never_by_an_older_one(tmp_path: Path) -> None:
    first = _built(tmp_path, ["One", "Two & three"])
    release = build_site(tmp_path, "https://news.example.org")
    assert release.path == first  # the same content is the same release
    second = _built(tmp_path, ["Four"])
    assert (tmp_path / "public").resolve() == second
    publish_release(tmp_path, release)  # by a worker that was frozen for a while
    assert (tmp_path / "public").resolve() == second


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda html: html.replace("log/", "lag/", 1), "leads nowhere"),
        (lambda html: html.replace("</main>", "</man>"), "closes nothing"),
        (lambda html: html.replace("</footer>", ""), "closes nothing"),
        (lambda html: html.replace("<h2", '<h2 id="a"').replace("<h3", '<h3 id="a"'), "the id a is there"),
        (lambda html: html.replace("<h1>", "<h2>").replace("</h1>", "</h2>"), "0 times <h1>"),
        (lambda html: html.replace("<main>", '<main><img src="style.css">'), "without alt"),
    ],
)
def test_the_check_finds_what_is_wrong(tmp_path: Path, damage: Any, problem: str) -> None:
    site = _built(tmp_path, ["One", "Two"])
    assert check_site(site) == []
    page = site / "index.html"
    page.write_text(damage(page.read_text()))
    assert any(problem in found for found in check_site(site)), check_site(site)


def test_a_site_that_is_broken_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = _built(tmp_path, ["One"])
    monkeypatch.setattr("content_pipeline.work.site.check_site", lambda _: ["a link leads nowhere"])
    with pytest.raises(BrokenSite, match="leads nowhere"):
        _built(tmp_path, ["Two"])
    assert (tmp_path / "public").resolve() == site


@contextmanager
def _model(status: int, answer: dict[str, Any], headers: dict[str, str]) -> Iterator[tuple[str, list[Any]]]:
    asked: list[Any] = []

    class Chat(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, self.headers["Authorization"], body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", asked
        finally:
            server.shutdown()


def _settings(base_url: str) -> Settings:
    return Settings.from_environment(
        {"OPENAI_API_KEY": "sk-test", "PIPELINE_MODEL": "small", "OPENAI_BASE_URL": base_url, "NO_PROXY": "*"}
    )


def test_a_model_summarises_where_one_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _model(200, {"choices": [{"message": {"content": " A bridge\nopens. "}}]}, {}) as (url, asked):
        assert summarise(_article(), _settings(url)) == "A bridge opens."
    ((path, key, body),) = asked
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer sk-test", "small")


def test_a_busy_model_is_asked_again_when_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _model(429, {}, {"Retry-After": "7"}) as (url, _), pytest.raises(Retry) as refused:
        summarise(_article(), _settings(url))
    assert refused.value.after == 7


def test_a_key_alone_asks_no_model() -> None:
    assert Settings.from_environment({"OPENAI_API_KEY": "sk-test"}).model is None


def test_the_old_queue_hides_what_was_received_for_ten_minutes(tmp_path: Path) -> None:
    queue = StorageQueue(tmp_path / "queues.db", "work")
    queue.send_message("a")
    (first,) = queue.receive_messages(max_messages=10, visibility_timeout=600)
    assert queue.receive_messages(max_messages=10, visibility_timeout=600) == []
    queue.move_clock(601)
    (second,) = queue.receive_messages(max_messages=10, visibility_timeout=600)
    assert (second.content, second.dequeue_count) == ("a", 2)
    with pytest.raises(LookupError):
        queue.delete_message(first.id, first.pop_receipt)
    queue.delete_message(second.id, second.pop_receipt)
    assert queue.hidden_for() is None
