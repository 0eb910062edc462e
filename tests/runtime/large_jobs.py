"""An app with large bodies, for `test_claim_check.py`: child processes import this module by its name."""

from tenure import SyncContext, Tenure

app = Tenure("memory://large-jobs", claim_check="memory://large-jobs")


@app.task(runs_in="process")
def count(text: str) -> int:
    return len(text)


@app.task(runs_in="process")
def hand_on(ctx: SyncContext, text: str) -> str:
    return ctx.submit(count.bind(2 * text))
