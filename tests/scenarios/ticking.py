"""An app with a schedule, as worker processes of the scenarios serve it."""

from datetime import timedelta

from tenure import Context, Tenure

from .tasks import register, traces

app = Tenure()
register(app)


@app.task
async def tick(ctx: Context) -> str:
    """Tell for which moment it was."""
    with traces().run(ctx):
        return str(ctx.scheduled_for)


app.schedule(tick.bind(), every=timedelta(seconds=1))
