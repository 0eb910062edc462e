"""Exactly one effect: a worker dies between the effect and its completion, and the effect is there once.

    python exactly_once.py

Delivery is at-least-once: a message whose worker died runs again. `ctx.once(tx)` writes one row in the
transaction of your own database, together with the effect: both are committed, or neither. The second run finds
the row and skips the effect.
"""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

from tenure import SyncContext, Tenure

app = Tenure("sqlite:///exactly_once.db")
SHOP = "shop.db"  # your own database: any with INSERT … ON CONFLICT DO NOTHING, such as PostgreSQL


@app.task
def charge(ctx: SyncContext, customer: str, cents: int) -> str:
    """Take money. Twice would be worse than late."""
    with closing(sqlite3.connect(SHOP)) as db:
        with db:  # one transaction
            db.execute("INSERT INTO runs (worker) VALUES (?)", (os.getpid(),))
            is_first = ctx.once(db)
            if is_first:
                db.execute("INSERT INTO charges (customer, cents) VALUES (?, ?)", (customer, cents))
        if is_first and sys.argv[1:] == ["work"]:
            # The effect is committed, and nobody knows yet that the message is done. The worst moment to die:
            os.kill(os.getpid(), signal.SIGKILL)
    return "charged by this run" if is_first else "was charged by an earlier run"


async def work() -> None:
    """A worker, until it is stopped or killed."""
    await app.worker().run()


async def main() -> None:
    """One message, two workers, one charge."""
    with closing(sqlite3.connect(SHOP)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS runs (worker INTEGER)")
        db.execute("CREATE TABLE IF NOT EXISTS charges (customer TEXT, cents INTEGER)")
    async with app:
        handle = await charge.submit("ada", 995)

        worker = subprocess.run([sys.executable, __file__, "work"], check=False)  # noqa: ASYNC221, S603
        print("the first worker died of", signal.Signals(-worker.returncode).name)

        async with app.worker():  # the second one finds the message of the dead at once
            print("the second worker says:", await handle.result(timeout=30))

    with closing(sqlite3.connect(SHOP)) as db:
        (runs,) = db.execute("SELECT count(*) FROM runs").fetchone()
        print("runs:", runs)
        print("charges:", db.execute("SELECT customer, cents FROM charges").fetchall())


if __name__ == "__main__":
    asyncio.run(work() if sys.argv[1:] == ["work"] else main())
