"""Tasks that block where they may: in a thread or a process of their own."""

import asyncio
import subprocess
import time

from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task
def convert(path: str) -> None:
    time.sleep(1)
    subprocess.run(["convert", path], check=True)


@app.task(runs_in="process")
def crunch(path: str) -> None:
    time.sleep(1)


@app.task
async def fetch(url: str) -> None:
    await asyncio.sleep(1)
    await asyncio.to_thread(time.sleep, 1)
