"""Run the content pipeline, kill every service once, and count what readers got.

Exits with 1 if a story was lost or told twice. `--compare` also runs the loop that the services had before.
"""

import argparse
import asyncio
import os
import shutil
from pathlib import Path

from .old_trial import OldTrial
from .outcome import FEEDS, Outcome
from .table import comparison
from .trial import Trial


def main() -> None:
    """Run, print, exit."""
    parser = argparse.ArgumentParser(prog="python -m content_pipeline", description=__doc__)
    parser.add_argument("url", nargs="?", help="redis://…, sqs://…, azure://…; default: SQLite, in the folder")
    parser.add_argument(
        "--folder", type=Path, default=Path("content-pipeline"), help="for site, pages, queues and logs"
    )
    parser.add_argument("--compare", action="store_true", help="run the loop of before first, with the same kills")
    given = parser.parse_args()
    folder = given.folder.resolve()
    before = _before(folder) if given.compare else None
    after = _after(given.url, folder)
    if before is not None:
        print("\n" + comparison(before, after) + "\n")
    print(after.count)
    raise SystemExit(bool(after.count.duplicates or after.count.lost))


def _before(folder: Path) -> Outcome:
    print(f"{len(FEEDS)} feeds, four services, before: hidden for 600 s, deleted, hoped for", flush=True)
    outcome = OldTrial(_fresh(folder / "before")).run()
    print(f"{outcome.seconds:6.1f} s  done: {outcome.summaries} summaries, {_builds(outcome)}\n")
    return outcome


def _after(url: str | None, folder: Path) -> Outcome:
    folder = _fresh(folder / "after")
    store = url or f"sqlite:///{folder}/queues.db"
    print(f"{len(FEEDS)} feeds, four services, on {store.partition(':')[0]}", flush=True)
    outcome = asyncio.run(Trial(store, folder).run())
    print(f"{outcome.seconds:6.1f} s  done: {outcome.summaries} summaries, {_builds(outcome)}")
    for reason in outcome.put_aside:
        print(f"          put aside: {reason}")
    if outcome.webhooks is None:
        print("          no webhook: that needs pip install 'tenure[webhooks]'")
    else:
        print(f"          webhooks that came: {outcome.webhooks}")
    print(f"          the site: {os.path.relpath(folder / 'public' / 'index.html')}")
    return outcome


def _builds(outcome: Outcome) -> str:
    messages = f"{outcome.requests} message{'' if outcome.requests == 1 else 's'} asked for"
    return f"{messages} {outcome.builds} build{'' if outcome.builds == 1 else 's'}"


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
