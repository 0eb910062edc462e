"""Settings: misspelt variables, addresses that are not encrypted, and what would not start.

They are those of this process. Run the doctor where the workers run, with their environment.
"""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence

from tenure.client.operations.doctor.facts import Facts
from tenure.config import Settings, setting_names
from tenure.errors import ConfigurationError
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.monitoring.metrics.address import address_of, check_access
from tenure.rules.open_connection import plain_host

_OURS = "TENURE_"
#: Of variables that are no settings: for tests and for debugging.
_OTHERS = ("TENURE_DEBUG", "TENURE_TEST_", "TENURE_DEMO_", "TENURE_COMPLETE")
#: `TENURE_LEASES` is like `TENURE_LEASE`; a name that is like none belongs to another program.
_ALIKE = 0.8


async def examine(facts: Facts) -> Sequence[Examination]:
    """Judge the settings of this process, and its environment. Nothing for a caller who sees some queues only."""
    if not facts.access.sees_every_queue:
        return []
    settings = facts.access.settings
    findings = (*_misspelt(os.environ), *_plain(settings), *_metrics(settings))
    count = sum(any(name in os.environ for name in one.variables) for one in setting_names())
    return [
        Examination(
            id="settings", area=Area.SETTINGS, title="settings", seen=f"{count} set in this environment",
            findings=findings,
        )
    ]  # fmt: skip


def _misspelt(environment: Mapping[str, str]) -> Iterator[Finding]:
    known = [variable for one in setting_names() for variable in one.variables]
    for name in sorted(environment):
        if not name.startswith(_OURS) or name in known or name.startswith(_OTHERS):
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
        if near:
            evidence = f"no setting has this name, so it changes nothing; {near[0]} is one"
            remedy = f"Write {near[0]}, or take the variable away"
            yield Finding("setting_misspelt", Severity.WARNING, name, evidence, remedy)


def _plain(settings: Settings) -> Iterator[Finding]:
    host = None if settings.public_url is None else plain_host(settings.public_url)
    if host is not None:
        evidence = f"people reach the server at {settings.public_url}: tokens and sessions can be read on the way"
        remedy = "Put a proxy with TLS before the server, and set TENURE_PUBLIC_URL to its https address"
        yield Finding("tls_off", Severity.WARNING, "TENURE_PUBLIC_URL", evidence, remedy)


def _metrics(settings: Settings) -> Iterator[Finding]:
    if settings.metrics is None:
        return
    try:
        check_access(address_of(settings.metrics), settings.metrics_token)
    except ConfigurationError as error:
        evidence = f"no worker starts with it: {error}"
        remedy = "Set TENURE_METRICS_TOKEN, or serve metrics at 127.0.0.1"
        yield Finding("metrics_refused", Severity.CRITICAL, "TENURE_METRICS", evidence, remedy)
