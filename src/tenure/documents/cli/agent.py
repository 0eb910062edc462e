"""`tenure documents agent`: a question, answered by a model with tools."""

import click

from tenure.documents.cli.one_task import run_one
from tenure.documents.cli.options import index_option, json_option, set_option, with_library
from tenure.documents.cli.terminal import counted, say, say_json, wrapped


@click.command(short_help="Ask a model that searches the documents.")
@click.argument("question")
@set_option
@click.option("--steps", type=click.IntRange(1, 50), default=8, show_default=True, help="Most turns of the model.")
@click.option("--tokens", type=click.IntRange(1), default=20_000, show_default=True, help="Most tokens.")
@click.option("--seconds", type=click.FloatRange(0.1), default=300.0, show_default=True, help="Most seconds.")
@index_option
@json_option
def agent(
    question: str, document_set: str, steps: int, tokens: int, seconds: float, index: str | None, as_json: bool  # noqa: FBT001
) -> int:  # fmt: skip
    """Answer QUESTION from the documents of a set, by a model with tools.

    Needs OPENAI_API_KEY; TENURE_DOCUMENTS_MODEL=scripted tries it offline, with
    a model that only quotes what it finds.
    """
    payload = {
        "question": question, "document_set": document_set, "steps": steps, "tokens": tokens, "seconds": seconds,
    }  # fmt: skip
    told: list[str] = []

    def show(note: str) -> None:
        if not as_json and note not in told[-1:]:
            told.append(note)
            say(note, err=True)

    answer = with_library(index, lambda library: run_one(library, "agent", payload, show))
    if as_json:
        say_json(answer)
        return 0 if answer.status == "answered" else 1
    said = answer.answer or f"No answer: {answer.status.replace('_', ' ')}."
    say("\n\n".join("\n".join(wrapped(part, indent="", lines=200)) for part in said.split("\n\n")))
    sources = f"; from {', '.join(answer.sources)}" if answer.sources else ""
    say(f"({answer.status}, {counted(answer.steps, 'step')}, {counted(answer.tokens, 'token')}{sources})", err=True)
    return 0 if answer.status == "answered" else 1
