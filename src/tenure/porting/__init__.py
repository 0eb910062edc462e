"""Porting: reads the source of a Celery project and writes the same tasks for Tenure.

Nothing is run or imported, and no file is changed. What has no equal becomes a note, and the text still imports.

    files → project → tasks, settings, schedules, sends → text of one module, with notes

`celery.py` puts these together. Shown by `tenure migrate celery`.
"""

from tenure.porting.celery import port_celery
from tenure.porting.ported import Kind, Note, Ported, Send

__all__ = ["Kind", "Note", "Ported", "Send", "port_celery"]
