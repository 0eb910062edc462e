"""The task service: submit tasks by type, ask for their status by their ids, in the words of existing systems.

    service = QueueService()                       # where, and for which client, the environment says
    task_id = await service.submit_task("ingest", {"filename": "document.pdf"}, webhook_url="https://…")
    (await service.status(task_id)).status         # queued, running, retrying, completed, failed, cancelled

A small layer over an app: everything that it stores is an ordinary message. Its wire format, which plain producers and
consumers share, is in `wire.py`.
"""

from tenure.service.service import QueueService, SyncQueueService
from tenure.service.status import TaskStatus, TaskWord

__all__ = ["QueueService", "SyncQueueService", "TaskStatus", "TaskWord"]
