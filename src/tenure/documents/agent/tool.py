"""A tool: a function that the agent's model may call."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

#: What a tool gives is shown to the model up to so many characters.
LONGEST_RESULT = 16_000


class Tool:
    """A function with a name, a description, and typed parameters, all of which the model sees.

    async def order(article: str, count: int = 1) -> str: ...

    Tool(order, "Order an article.", has_effect=True)
    """

    def __init__(
        self,
        function: Callable[..., Awaitable[Any] | Any],
        description: str,
        *,
        has_effect: bool = False,
        name: str = "",
    ) -> None:
        """Offer `function`.

        - `has_effect`: It changes something. A run that died while it ran does not call it again: the model
          gets "outcome unknown" as its answer.
        """
        #: How the model calls it.
        self.name = name or function.__name__
        self.description = description
        self.has_effect = has_effect
        self._function = function
        fields: list[Any] = []
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            kind = Any if parameter.annotation is parameter.empty else parameter.annotation
            is_required = parameter.default is parameter.empty
            fields.append((parameter.name, kind) if is_required else (parameter.name, kind, parameter.default))
        self._arguments = msgspec.defstruct(f"{self.name}_arguments", fields, forbid_unknown_fields=True, kw_only=True)

    def described(self) -> dict[str, Any]:
        """The tool, as OpenAI's API describes functions."""
        (schema,), components = msgspec.json.schema_components([self._arguments], ref_template="#/$defs/{name}")
        own = schema["$ref"].rpartition("/")[2]
        parameters = components.pop(own)
        if components:
            parameters = {**parameters, "$defs": components}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }

    async def call(self, arguments: str) -> Any:
        """Call it with arguments as JSON. Raises `ValueError` for those that do not fit."""
        try:
            given = msgspec.json.decode(arguments or "{}", type=self._arguments)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise ValueError(f"{self.name} cannot take {arguments[:200]}: {error}") from error
        result = self._function(**msgspec.structs.asdict(given))
        return await result if inspect.isawaitable(result) else result
