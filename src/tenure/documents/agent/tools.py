"""The tools that come with the agent. All of them see one document set, which the model cannot choose."""

from typing import Any

from tenure.documents.agent.calculator import calculate
from tenure.documents.agent.tool import LONGEST_RESULT, Tool
from tenure.documents.library import Library
from tenure.errors import BadArgument

_HITS = 5


def tools_of(library: Library, document_set: str) -> list[Tool]:
    """Search, fetch, and a calculator, for one document set."""

    async def search(question: str) -> list[dict[str, Any]]:
        try:
            hits = await library.search(question, document_set=document_set, limit=_HITS)
        except BadArgument as error:
            raise ValueError(str(error)) from error
        return [{"name": hit.name, "heading": hit.heading, "page": hit.page, "text": hit.text} for hit in hits]

    async def fetch_document(name: str) -> dict[str, Any]:
        try:
            text = await library.text(name, document_set=document_set)
        except BadArgument as error:
            raise ValueError(str(error)) from error
        if text is None:
            raise ValueError(f"there is no document {name!r} in this document set")
        return {"name": name, "text": text[:LONGEST_RESULT], "is_whole": len(text) <= LONGEST_RESULT}

    def calculator(expression: str) -> float:
        return calculate(expression)

    return [
        Tool(search, "Search the documents. Returns passages with the names of their documents."),
        Tool(fetch_document, "Fetch the text of one document by its name."),
        Tool(calculator, "Calculate an arithmetic expression, such as 1.75 * (60 + 30)."),
    ]
