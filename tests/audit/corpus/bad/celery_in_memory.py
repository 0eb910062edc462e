"""An app whose broker is this process, and that says so of its acks too."""

from celery import Celery

celery = Celery("reports", broker="memory://")  # expect: TQ801 TQ806
celery.conf.task_acks_late = False
celery.conf["task_serializer"] = "json"
