"""Models without an endpoint: one that follows a script, for tests, and one that quotes, to try the agent offline."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tenure.documents.llm.chat import Reply, ToolCall, Turn

#: Of a passage, so much is quoted.
_QUOTED = 400

Step = Reply | Callable[[Sequence[Turn]], Reply]


class ScriptedModel:
    """Says one reply after the other. Which one is next is read from the chat, so that a resumed run goes on."""

    name = "scripted"

    def __init__(self, *steps: Step) -> None:
        """Say `steps`; the last one again and again."""
        self._steps = steps
        #: What it was asked, oldest first.
        self.asked: list[tuple[Turn, ...]] = []

    async def reply(  # a script knows no limits
        self,
        turns: Sequence[Turn],
        *,
        tools: Sequence[Any] = (),  # noqa: ARG002 - of the port
        most_tokens: int = 1_000,  # noqa: ARG002 - of the port
    ) -> Reply:
        """The reply of this step."""
        self.asked.append(tuple(turns))
        said = sum(turn.role == "assistant" for turn in turns)
        step = self._steps[min(said, len(self._steps) - 1)]
        return step if isinstance(step, Reply) else step(turns)


class QuotingModel:
    """Searches for the question, and answers with the best passages and where they are. It understands nothing."""

    name = "scripted"

    async def reply(self, turns: Sequence[Turn], *, tools: Sequence[Any] = (), most_tokens: int = 1_000) -> Reply:
        """First search, then quote."""
        question = next(turn.content for turn in turns if turn.role == "user")
        found = [turn.content for turn in turns if turn.role == "tool"]
        if not found and tools:
            return Reply(calls=(ToolCall("search-1", "search", json.dumps({"question": question})),), tokens=1)
        return Reply(content=_quoted(found[-1] if found else "", most_tokens), tokens=1)


def _quoted(result: str, most_tokens: int) -> str:
    try:
        hits = json.loads(result)["result"]
        quotes = [f"{hit['name']} says: {' '.join(hit['text'].split())[:_QUOTED]}" for hit in hits[:2]]
    except (ValueError, TypeError, KeyError):
        quotes = []
    return "\n\n".join(quotes)[: most_tokens * 4] or "Nothing was found."
