"""Extractive summaries: the sentences that matter, in their order, without any model."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tenure import MessageState
from tenure.documents import Library
from tenure.documents.summarizing.textrank import most_important, rank, sentences_of

from .conftest import RunTask


def test_a_sentence_that_shares_words_with_the_others_matters_most() -> None:
    sentences = [
        "The lease of a message is renewed by the heartbeat of its worker.",
        "Some people like to walk in the rain on Sundays.",
        "A heartbeat renews the lease before it ends.",
        "When the heartbeat stops, the lease of the message ends.",
    ]
    ranks = rank(sentences)
    assert min(ranks) == ranks[1]
    assert most_important(sentences, 3) == [sentences[0], sentences[2], sentences[3]]


def test_headings_and_code_are_no_sentences() -> None:
    assert sentences_of(["Leases\n\nA lease ends at its deadline. It may be renewed before that moment.\n\nx = 1"]) == [
        "A lease ends at its deadline.",
        "It may be renewed before that moment.",
    ]


def test_a_long_text_is_ranked_in_parts() -> None:
    sentences = [f"Sentence number {number} is about leases and heartbeats." for number in range(450)]
    best = most_important(sentences, 5)
    assert len(best) == 5
    assert [sentences.index(one) for one in best] == sorted(sentences.index(one) for one in best)


@pytest.mark.real_time
async def test_a_summary_is_saved_and_returned(library: Library, tasks: RunTask, folder: Path) -> None:
    async with tasks(library) as run:
        done = await run("summarize", filename="leases.md", sentences=1)
        assert done.result is not None
        summary = msgspec.json.decode(done.result)
        assert summary["by"] == "textrank"
        assert summary["summary"] in (folder / "leases.md").read_text(encoding="utf-8")
        assert await library.summary("leases.md", document_set="south") == summary["summary"]
        await run("ingest", filename="clocks.md")
        await asyncio.to_thread((folder / "clocks.md").unlink)
        of_the_index = await run("summarize", filename="clocks.md")
        assert of_the_index.state is MessageState.COMPLETED
        gone = await run("summarize", filename="gone.md")
        assert gone.state is MessageState.DEAD
