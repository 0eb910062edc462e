"""Whether somebody asked for a live suite, and what it says if nobody did. The words are known to `tests/conftest.py`.

Imports nothing of the suites: a skip must not need what it skips.
"""

import os

SQS, AZURE = "TENURE_LIVE_SQS", "TENURE_LIVE_AZURE"
#: Why a file of the live suites is skipped. These skips, and no others, are allowed where a skip fails the run.
REASONS = {
    SQS: f"live: set {SQS} to a URL such as sqs://eu-west-1 to run these on an account of yours, at your cost"
    " (15 minutes, 8 000 requests, a cent or two)",
    AZURE: f"live: set {AZURE} to a URL such as azure://account to run these on an account of yours, at your cost"
    " (15 minutes, 8 000 requests, a cent or two)",
}


def asked(variable: str) -> str:
    """The URL of the account; empty: nobody asked."""
    return os.environ.get(variable, "")


def is_known(report: object, nodeid: str) -> bool:
    """Whether a skip is that of a live suite that nobody asked for."""
    return any(
        not asked(variable) and nodeid.startswith("tests/live/test_live_") and str(report).endswith(f"{reason}')")
        for variable, reason in REASONS.items()
    )
