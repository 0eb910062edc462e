"""Pictures: drawings become part of their page, so that they follow its theme; photographs are files beside it."""

import re
from html import escape

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{(.*?\})\s*\}", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def inlined(svg: str, name: str, words: str) -> str:
    """A drawing as part of a page: its rules hold for it alone, and its dark ones also where the reader chose dark."""
    found = _STYLE.search(svg)
    style = found[1] if found else ""
    dark = _DARK.search(style)
    light_rules = _RULE.findall(_DARK.sub("", style))
    dark_rules = _RULE.findall(dark[1]) if dark else []
    scope = f"#picture-{name}"
    lines = [_scoped(scope, *rule) for rule in light_rules]
    lines += ["@media (prefers-color-scheme: dark) {"]
    lines += [_scoped(f":root:not([data-theme=light]) {scope}", *rule) for rule in dark_rules]
    lines += ["}"]
    lines += [_scoped(f":root[data-theme=dark] {scope}", *rule) for rule in dark_rules]
    # The page labels it; an id would be there twice if a page showed two drawings of one script.
    body = re.sub(r"<title>.*?</title>", "", _STYLE.sub("", svg), flags=re.DOTALL)
    body = body.replace("<svg ", f'<svg aria-label="{escape(words, quote=True)}" ', 1)
    scroll = f'<div class="drawing" id="picture-{name}" role="group" tabindex="0" aria-label="Picture">'
    return f"{scroll}<style>{''.join(lines)}</style>{body.strip()}</div>"


def photograph(address: str, words: str, *, dark: str = "", size: tuple[int, int]) -> str:
    """A picture of a screen; `dark`: the same one in the dark theme, if there is one."""
    width, height = size
    rest = f'alt="{escape(words, quote=True)}" width="{width}" height="{height}" loading="lazy"'
    if not dark:
        return f'<img class="screen" src="{address}" {rest}>'
    return f'<img class="screen in-light" src="{address}" {rest}><img class="screen in-dark" src="{dark}" {rest}>'


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height, in pixels."""
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _scoped(scope: str, selectors: str, rules: str) -> str:
    return ", ".join(f"{scope} {one.strip()}" for one in selectors.split(",")) + f" {{{rules.strip()}}}"
