"""Builds the static site: a folder of HTML with its own feed, checked and then swapped in by one rename."""

import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Publication, publications
from .check import check_site
from .page import Page, digest_of_pages, read_pages
from .render import TEMPLATES, Renderer

_KEPT_RELEASES = 3


class BrokenSite(Exception):
    """The build has dead links or HTML that is not well-formed; readers keep the site they have."""


@dataclass(frozen=True)
class Release:
    """One build of the site."""

    path: Path
    pages: int


def build_site(folder: Path, site_url: str) -> Release:
    """Write the whole site into a folder that no reader sees. Raises `BrokenSite`."""
    log = publications(folder)  # first: a page is written before its publication is committed
    pages = read_pages(folder)
    releases = folder / "releases"
    path = releases / release_name(folder)
    if path.exists():  # it was renamed when it was complete: a build that was killed after that
        return Release(path, len(pages))
    releases.mkdir(exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".build-", dir=releases))
    _write_site(draft, pages, log, site_url)
    if problems := check_site(draft):
        raise BrokenSite("; ".join(problems[:5]))
    draft.chmod(0o755)
    draft.rename(path)
    return Release(path, len(pages))


def _write_site(site: Path, pages: list[Page], log: list[Publication], site_url: str) -> None:
    sections: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        sections[page.section].append(page)
    renderer = Renderer(site_url, sorted(sections))
    _write(site / "index.html", renderer.index(pages))
    _write(site / "log" / "index.html", renderer.log(log, {page.guid: page.name for page in pages}))
    _write(site / "feed.xml", renderer.feed(pages))
    _write(site / "style.css", renderer.style())
    for section, members in sections.items():
        _write(site / "sections" / renderer.slug(section) / "index.html", renderer.section(section, members))
    for page in pages:
        _write(site / "articles" / page.name / "index.html", renderer.article(page, sections[page.section]))


def publish_release(folder: Path, release: Release) -> None:
    """Let `public` point at the release: one rename, so that a reader sees the old site or the new one."""
    public, link = folder / "public", folder / ".public"
    if public.exists() and _age(public.resolve()) > _age(release.path):
        return  # a later build was quicker
    link.unlink(missing_ok=True)
    link.symlink_to(release.path.relative_to(folder), target_is_directory=True)
    link.replace(public)
    builds = sorted((folder / "releases").iterdir(), key=os.path.getmtime, reverse=True)
    for old in builds[_KEPT_RELEASES:]:
        if old != release.path:
            shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _age(release: Path) -> str:
    return release.name.partition("-")[0]  # the log only grows


def release_name(folder: Path) -> str:
    """Names what the site would say now: the same pages, log and templates have the same release."""
    log = publications(folder)
    templates = [path.read_bytes() for path in sorted(TEMPLATES.iterdir())]
    return f"{len(log):06}-{digest_of_pages(folder)}-{hashlib.sha256(repr((log, templates)).encode()).hexdigest()[:8]}"
