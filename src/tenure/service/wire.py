"""The wire format of the service, both ways.

    {"task_id": "7f9c…", "task_type": "ingest", "payload": {"filename": "document.pdf"}, "webhook_url": "https://…"}

Read: what plain producers put into the queue of a client has these keys and no others of ours; `foreign.read_task`
reads it, also within base64. Written: an envelope of Tenure that has these keys too, so a consumer that knows only them
reads it as it stands, and every version of Tenure as an envelope.
"""

from typing import Any

import msgspec

from tenure.message import Message, Outgoing


class TaskMessage(Message, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="tenure", tag=1):
    """A message whose envelope can be read by consumers of tasks that do not know Tenure."""

    task_id: str
    task_type: str
    payload: msgspec.Raw
    webhook_url: str | None = None


def readable(outgoing: Outgoing, task_id: str, webhook_url: str | None) -> Outgoing:
    """The same message, with the keys of the service beside those of the envelope."""
    message = outgoing.message
    fields: dict[str, Any] = {name: getattr(message, name) for name in Message.__struct_fields__}
    task = TaskMessage(**fields, task_id=task_id, task_type=message.task, payload=message.body, webhook_url=webhook_url)
    return msgspec.structs.replace(outgoing, message=task)
