"""Retention: what is finished is forgotten when the account has kept it long enough.

Letters that have ended, lives that were cancelled, claims that are done. What waits, is held or is dead stays, however
old it is. Called by `AzureJournal.prune`.
"""

from tenure.adapters.azure.entry import letter_key, read_life
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import Store


async def forget_finished(store: Store) -> None:
    """Drop what finished before the time that is kept."""
    before = store.clock.wall() - store.options.keep_seconds
    for part in store.parts:
        old = await store.rows.scan(part, "s:", "IsEnded eq true and SentAt lt @before", before=before)
        claims = await store.rows.scan(f"k{part}", "k:", "State ne 'running' and At lt @before", before=before)
        cancelled = []
        for row in await store.rows.scan(part, "m:", "State eq 'cancelled'"):
            life = read_life(row).life
            if (life.finished_at or 0.0) < before:
                cancelled += [row, Row(part, letter_key(life.id), {})]
        gone = [*old, *claims, *cancelled]
        await store.rows.commit([[Change("delete", row)] for row in gone])
