"""What a lifespan does not yield, where the context names its type."""

from dataclasses import dataclass

from tenure import Context, SyncContext, Tenure


@dataclass
class Resources:
    """What handlers share."""

    pool: str


@dataclass
class Others:
    """What other handlers share."""


app = Tenure("memory://")


@app.task
async def fetch(ctx: Context[Resources], url: str) -> str:
    """Async."""
    of_others(ctx)  # expect: arg-type | reportArgumentType
    return ctx.state.pol + url  # expect: attr-defined | reportAttributeAccessIssue


@app.task
def fetch_sync(ctx: SyncContext[Resources], url: str) -> int:
    """Sync."""
    _pool: int = ctx.state.pool  # expect: assignment | reportAssignmentType
    return len(url)


def of_others(ctx: Context[Others]) -> None:
    """A function of one's own for another state."""
    ctx.progress(0.5)


async def uses() -> None:
    """The task is typed by the parameters after the context, as ever."""
    await fetch.submit(17)  # expect: arg-type | reportArgumentType
    fetch_sync.bind()  # expect: call-arg | reportCallIssue
    _words: str = fetch_sync("a")  # expect: assignment | reportAssignmentType
