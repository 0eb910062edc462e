"""What each alert of the catalogue measures in a reading: one function each, under the alert's id.

runs.py      what became of messages: duplicates, deletes, leases
queues.py    what waits: age, workers, limits, pauses
processes.py workers: deaths, heartbeats, clocks, the journal
stores.py    the store, sweeps, webhooks
"""

from collections.abc import Mapping

from tenure.monitoring.alerting.detector import Look
from tenure.monitoring.alerting.signals import processes, queues, runs, stores

SIGNALS: Mapping[str, Look] = {**stores.SIGNALS, **queues.SIGNALS, **processes.SIGNALS, **runs.SIGNALS}
