"""Tasks of a Tenure app that block the loop they share."""

from time import sleep
from urllib.request import urlopen

from tenure import Context, Tenure

app = Tenure("sqlite:///jobs.db")


@app.task
async def fetch(url: str) -> int:
    with urlopen(url) as answer:  # expect: TQ501
        return len(answer.read())


@app.task(queue="slow")
async def nap(ctx: Context, seconds: float) -> None:
    sleep(seconds)  # expect: TQ501
