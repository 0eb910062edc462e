"""What a run of the agent has behind it: kept as the checkpoint, so that a crash resumes at the step."""

import msgspec

from tenure.documents.llm.chat import Turn


class Journey(msgspec.Struct, kw_only=True):
    """The chat so far, with what it cost."""

    turns: list[Turn]
    tokens: int = 0
    #: Steps that the model has made.
    steps: int = 0
    #: Seconds of runs that were ended, as far as they were kept.
    seconds: float = 0.0
    #: The id of a call whose tool has an effect and was started. Its answer is not here yet.
    started: str = ""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run ends, if the model does not end it before."""

    steps: int = 8
    tokens: int = 20_000
    seconds: float = 300.0


class AgentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    #: `answered`, or the limit that ended it: `step_limit`, `token_limit`, `time_limit`.
    status: str
    answer: str
    steps: int
    tokens: int
    #: The documents that were found or fetched, in the order of their first use.
    sources: list[str]
