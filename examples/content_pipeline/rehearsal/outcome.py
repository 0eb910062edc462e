"""What a trial showed."""

from dataclasses import dataclass, field
from pathlib import Path

from .count import Count
from .kills import Kill
from .processes import PARENT

#: The feeds that come with the example, two editions of a day.
FEEDS: list[Path] = sorted(path for path in (PARENT / "content_pipeline" / "feeds").glob("*/*") if path.is_file())


@dataclass(frozen=True)
class Outcome:
    """Counted from the published site, the run log, the dead letters and the receiver of webhooks."""

    count: Count
    #: Until nothing was left to do, waiting included.
    seconds: float
    kills: list[Kill]
    #: Runs of the processor: with a model, each is paid for.
    summaries: int
    builds: int
    #: Messages that asked for a build. Each publication asks.
    requests: int
    #: Why feeds were put aside.
    put_aside: list[str] = field(default_factory=list)
    #: None: `tenure[webhooks]` is not installed here.
    webhooks: int | None = None
