"""`tenure documents`: what the commands print and how they end. Killed half-way: `test_killing.py`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tenure.cli.root import root
from tenure.documents.cli.command import documents
from tenure.documents.cli.ingesting import Ingesting
from tenure.documents.library import Library

from .conftest import CLOCKS, LEASES
from .pdf_file import pdf

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `docs` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENURE_DOCUMENTS_EMBEDDER", "none")
    below = tmp_path / "docs" / "deep"
    below.mkdir(parents=True)
    (tmp_path / "docs" / "leases.md").write_text(LEASES, encoding="utf-8")
    (below / "clocks.md").write_text(CLOCKS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tenure() -> Run:
    def run(*words: str) -> Result:
        return CliRunner().invoke(root, ["documents", *words], prog_name="tenure")

    return run


def said(result: Result, code: int = 0) -> Any:
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def test_a_folder_is_indexed_and_searched(tenure: Run) -> None:
    ingested = tenure("ingest", "docs")
    assert ingested.exit_code == 0, ingested.stderr
    assert ingested.stdout.startswith("2 documents: 2 indexed (2 chunks), in ")
    found = tenure("search", "heartbeat renews")
    assert found.stdout.splitlines()[:2] == [" 1  leases.md · Leases", "    1.00 · words 1"]
    assert max(map(len, found.stdout.splitlines())) <= 80
    again = tenure("ingest", "docs")
    assert again.stdout.startswith("2 documents: 0 indexed (0 chunks), 2 unchanged, in ")


def test_one_file_is_indexed(tenure: Run) -> None:
    assert said(tenure("ingest", "docs/deep/clocks.md", "--json"))["documents"] == 1
    assert [one["name"] for one in said(tenure("list", "--json"))] == ["clocks.md"]


def test_what_cannot_be_read_is_named_and_the_rest_is_indexed(tenure: Run, here: Path) -> None:
    (here / "docs" / "bad.pdf").write_bytes(b"no")
    (here / "docs" / "good.pdf").write_bytes(pdf(["A page."]))
    (here / "docs" / "picture.png").write_bytes(b"PNG")
    ingested = tenure("ingest", "docs")
    assert ingested.exit_code == 1
    assert "4 documents: 3 indexed (3 chunks, 1 page), 1 not indexed" in ingested.stdout
    assert "\n  bad.pdf is not a PDF: it has no PDF header." in ingested.stdout
    assert said(tenure("ingest", "docs", "--json"), 1)["refused"][0]["name"] == "bad.pdf"


def test_sets_are_apart(tenure: Run) -> None:
    tenure("ingest", "docs", "--set", "south")
    assert said(tenure("search", "lease", "--set", "south", "--json"))[0]["document_set"] == "south"
    assert said(tenure("search", "lease", "--json"), 1) == []
    assert "Nothing was found in the set default." in tenure("search", "lease").stdout


def test_documents_are_listed_and_removed(tenure: Run) -> None:
    assert "No document is in the index." in tenure("list").stdout
    tenure("ingest", "docs")
    assert tenure("list").stdout.splitlines() == ["default  deep/clocks.md  1 chunk", "default  leases.md  1 chunk"]
    assert tenure("remove", "leases.md").stdout == "leases.md was removed.\n"
    assert tenure("remove", "leases.md").exit_code == 1
    assert said(tenure("remove", "deep/clocks.md", "--json")) == {"removed": True}


def test_a_document_is_summarized_and_asked_offline(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tenure("ingest", "docs")
    assert "heartbeat renews every lease" in tenure("summarize", "leases.md").stdout
    assert said(tenure("summarize", "leases.md", "--json"))["by"] == "textrank"
    missing = tenure("summarize", "gone.md")
    assert missing.exit_code == 1
    assert "there is no gone.md in the index" in missing.stderr
    monkeypatch.setenv("TENURE_DOCUMENTS_MODEL", "scripted")
    answered = tenure("agent", "who renews leases?")
    assert answered.stdout.startswith("leases.md says: ")
    assert "answered, 2 steps" in answered.stderr
    assert said(tenure("agent", "who?", "--tokens", "1", "--json"), 1)["status"] == "token_limit"


def test_what_is_set_up_wrongly_is_one_line(tenure: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tenure("search", "x", "--index", "mysql://u:secret@host/db")
    assert bad.exit_code == 2
    assert "error[bad_url]" in bad.stderr
    assert "secret" not in bad.stderr
    monkeypatch.setenv("TENURE_DOCUMENTS_EMBEDDER", "magic")
    monkeypatch.setenv("SUPABASE_URL", "https://x.supabase.co")
    monkeypatch.setenv("TENURE_DOCUMENTS_TIMEOUT", "long")
    several = tenure("search", "x")
    assert several.exit_code == 2
    for name in ("TENURE_DOCUMENTS_EMBEDDER", "SUPABASE_KEY", "TENURE_DOCUMENTS_TIMEOUT"):
        assert name in several.stderr


def test_a_server_that_others_can_reach_needs_a_token(tenure: Run) -> None:
    refused = tenure("serve", "--host", "0.0.0.0")  # noqa: S104 - refused
    assert refused.exit_code == 2
    assert "TENURE_DOCUMENTS_TOKEN" in refused.stderr


def test_text_of_documents_cannot_steer_a_terminal(tenure: Run, here: Path) -> None:
    (here / "docs" / "evil.md").write_text("# \x1b[2J\n\nevil \x1b]0;title\x07 \u202etext\n", encoding="utf-8")
    tenure("ingest", "docs")
    out = tenure("search", "evil").stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    raw = tenure("search", "evil", "--json").stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(raw)
    assert json.loads(raw)[0]["text"].startswith("evil \x1b]0;title")


def test_recall_is_a_table(tenure: Run, here: Path) -> None:
    tenure("ingest", "docs")
    (here / "questions.jsonl").write_text(
        '{"question": "who renews leases?", "name": "leases.md"}\n{"question": "zebra", "name": "deep/clocks.md"}\n'
    )
    assert tenure("recall", "questions.jsonl").stdout.splitlines() == [
        "2 questions    recall@1  recall@5    MRR",
        "text                50%       50%   0.50",
    ]
    assert said(tenure("recall", "questions.jsonl", "--json"))[0]["missed"] == ["zebra"]
    (here / "bad.jsonl").write_text("no")
    assert tenure("recall", "bad.jsonl").exit_code == 2


def test_the_schema_is_for_the_size_of_the_vectors(tenure: Run) -> None:
    assert "embedding vector(256)" in tenure("schema").stdout
    assert "match_documents" in said(tenure("schema", "--json"))["sql"]


def test_every_command_has_json_and_fits_a_narrow_terminal(tenure: Run) -> None:
    for name in documents.list_commands(click.Context(documents)):
        lines = tenure(name, "--help").stdout.splitlines()
        assert any("--json" in line for line in lines), name
        assert max(map(len, lines)) <= 80, name


def test_the_queue_is_beside_the_index(tenure: Run, here: Path) -> None:
    (here / "other").mkdir()
    tenure("ingest", "docs", "--index", "sqlite:///other/index.db")
    assert {path.name for path in (here / "other").iterdir() if path.suffix == ".db"} == {"index.db", "index-queue.db"}


def test_a_set_with_a_strange_name_is_refused(tenure: Run) -> None:
    assert tenure("ingest", "docs", "--set", "../x").exit_code == 2
    assert tenure("search", "x", "--set", "../x").exit_code == 2
    assert Ingesting(Library("sqlite:///x.db"), Path("docs"), "a.b-c", "memory://", 1).done == 0
