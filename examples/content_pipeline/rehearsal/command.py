"""The command: one trial, or `--compare` with the loop as it was before."""

import argparse
import asyncio
import shutil
import tempfile
from pathlib import Path

from .trial import Outcome, Trial


def main() -> None:
    """Run, print, and exit with 1 if something was lost or told twice."""
    parser = argparse.ArgumentParser(prog="python -m content_pipeline", description=__doc__)
    parser.add_argument("url", nargs="?", help="redis://…, sqs://…, azure://…; default: SQLite in the folder")
    parser.add_argument("--folder", type=Path, default=Path("content-pipeline"), help="where the site and logs go")
    parser.add_argument("--compare", action="store_true", help="also run the loop as it was before, with the same kills")
    given = parser.parse_args()
    folder = _fresh(given.folder.resolve())
    trial = Trial(given.url or f"sqlite:///{folder}/queues.db", folder)
    said = f"{len(trial.expected.story_of)} articles"
    outcome = asyncio.run(trial.run())
    _print(outcome, folder)
    print(outcome.count)
    raise SystemExit(bool(outcome.count.duplicates or outcome.count.lost))


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _print(outcome: Outcome, folder: Path) -> None:
    for kill in outcome.kills:
        print(f"          {kill.service}: all {len(kill.held)} ran again within {kill.slowest_seconds:.1f} s")
    print(f"done after {outcome.seconds:.1f} s: {outcome.summaries} summaries, {outcome.builds} build(s)")
    for id, reason in outcome.dead.items():
        print(f"put aside: {reason}")
    print(f"webhooks: {outcome.webhooks}")
    print(f"the site: {folder}/public/index.html")
