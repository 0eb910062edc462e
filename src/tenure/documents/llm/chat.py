"""The port of a model that chats, and the one behind an endpoint: `POST …/chat/completions`."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from tenure.documents.errors import EndpointError, Trouble
from tenure.documents.llm.endpoint import Endpoint


class ToolCall(msgspec.Struct, frozen=True):
    """What a model wants to be done."""

    id: str
    name: str
    #: JSON, as the model wrote it.
    arguments: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a chat: of the system, the user, the model, or a tool."""

    role: str
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    #: Of a tool's turn: the call that it answers.
    call_id: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said, and what it cost."""

    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0


class ChatModel(Protocol):
    """A model that chats."""

    @property
    def name(self) -> str:
        """The name of the model, for people."""
        ...

    async def reply(self, turns: Sequence[Turn], *, tools: Sequence[Any] = (), most_tokens: int = 1_000) -> Reply:
        """The next turn. `tools`: as OpenAI's API describes functions. Raises `EndpointError`."""
        ...


class OpenAIModel:
    """A model of an endpoint that speaks OpenAI's API."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        """Ask `model` at `endpoint`."""
        self._endpoint = endpoint
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model

    async def reply(self, turns: Sequence[Turn], *, tools: Sequence[Any] = (), most_tokens: int = 1_000) -> Reply:
        """As the port says."""
        body: dict[str, Any] = {
            "model": self._model, "messages": [_spoken(turn) for turn in turns], "max_tokens": most_tokens,
            "temperature": 0,
        }  # fmt: skip
        if tools:
            body["tools"] = list(tools)
        answer = await self._endpoint.post("chat/completions", body)
        try:
            message = answer["choices"][0]["message"]
            calls = tuple(
                ToolCall(str(call["id"]), str(call["function"]["name"]), str(call["function"]["arguments"]))
                for call in message.get("tool_calls") or ()
            )
            content = message.get("content") or ""
            tokens = int((answer.get("usage") or {}).get("total_tokens") or 0)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError) as error:
            where = f"{self._endpoint.base_url}/chat/completions"
            raise EndpointError(f"{where} answered with no message ({error!r})", Trouble.WRONG) from error
        return Reply(content=str(content), calls=calls, tokens=tokens or _estimated(turns, str(content)))


def _spoken(turn: Turn) -> dict[str, Any]:
    spoken: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.calls:
        spoken["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
    if turn.call_id:
        spoken["tool_call_id"] = turn.call_id
    return spoken


def _estimated(turns: Sequence[Turn], content: str) -> int:
    """Where an endpoint does not count: about four characters a token."""
    return (sum(len(turn.content) for turn in turns) + len(content)) // 4
