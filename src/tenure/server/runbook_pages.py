"""The runbooks as pages: `/runbooks/ID`, for people who were sent there by an alert.

They are copies of the pages of docs/runbooks, made by `make reference`. Public as the dashboard's files are, and
without scripts; the one style sheet is allowed by its hash. Called by `application.py`.
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from tenure.server.encode import has_tag, tag_of
from tenure.server.guard.headers import CONTENT_SECURITY_POLICY as SERVER_POLICY
from tenure.server.markdown import as_html, title_of
from tenure.server.static_files import base_of

#: The first segment of their paths.
RUNBOOKS = "runbooks"
_INDEX = "README"
_MOST_SEGMENTS = 2
_STYLE = """
:root{color-scheme:light dark;--fg:#1f2933;--dim:#616e7c;--line:#e4e7eb;--code:#f5f7fa;--bg:#fff;--link:#1d4ed8}
@media(prefers-color-scheme:dark){:root{--fg:#e4e7eb;--dim:#9aa5b1;--line:#323f4b;--code:#1f2933;--bg:#14191f;--link:#93b4ff}}
body{margin:0 auto;padding:24px 20px 64px;max-width:46rem;background:var(--bg);color:var(--fg);
font:15px/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:24px;line-height:1.25;margin:16px 0}h2{font-size:17px;margin:28px 0 8px}
nav{color:var(--dim);font-size:13px}a{color:var(--link)}
code{font:13px ui-monospace,monospace;background:var(--code);padding:1px 4px;border-radius:3px}
pre{background:var(--code);border:1px solid var(--line);border-radius:6px;padding:12px;overflow-x:auto}
pre code{padding:0;background:none}li{margin:4px 0}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}
th,td{text-align:left;vertical-align:top;padding:6px 12px 6px 0;border-bottom:1px solid var(--line)}
"""
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = SERVER_POLICY.replace("style-src 'self'", f"style-src 'sha256-{_DIGEST}'")


class RunbookPages:
    """Every runbook, rendered once."""

    def __init__(self) -> None:
        """Read nothing before the first request."""
        self._texts: Mapping[str, str] | None = None

    def has(self, method: str, segments: Sequence[str]) -> bool:
        """Whether a path is that of a runbook."""
        return method in ("GET", "HEAD") and segments[0] == RUNBOOKS and len(segments) <= _MOST_SEGMENTS

    async def respond(self, request: Request, segments: Sequence[str]) -> Response:
        """The page. 404: there is no such runbook."""
        if self._texts is None:
            self._texts = await asyncio.to_thread(_read)
        id = segments[1] if len(segments) == _MOST_SEGMENTS and segments[1] else _INDEX
        text = self._texts.get(id)
        base = f"{base_of(request)}/{RUNBOOKS}"
        if text is None:
            return Response(f"there is no runbook {id}; {base}/ has all of them\n", 404, media_type="text/plain")
        body = _page(text, base, self._texts)
        tag = tag_of(body)
        headers = {"Cache-Control": "no-cache", "ETag": tag, "Content-Security-Policy": _POLICY}
        if has_tag(request.headers.get("if-none-match", ""), tag):
            return Response(None, 304, headers)
        return Response(body, 200, headers, "text/html")


def _page(text: str, base: str, texts: Mapping[str, str]) -> bytes:
    def link_of(target: str) -> str | None:
        name = target.partition("#")[0].removesuffix(".md")
        if name == _INDEX:
            return f"{base}/"
        return f"{base}/{name}" if name in texts else None

    title = escape(title_of(text))
    root = escape(base.removesuffix(RUNBOOKS), quote=True)
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} · Tenure</title><style>{_STYLE}</style></head><body>"
        f'<nav><a href="{root}">Tenure</a> / <a href="{escape(base, quote=True)}/">Runbooks</a> / '
        f'<a href="{root}findings">Findings</a></nav><main>'
    )
    return f"{head}{as_html(text, link_of)}</main></body></html>\n".encode()


def _read() -> Mapping[str, str]:
    folder = files("tenure.server") / RUNBOOKS
    return {
        one.name.removesuffix(".md"): one.read_text(encoding="utf-8")
        for one in folder.iterdir()
        if one.name.endswith(".md")
    }
