"""The app for messages of plain producers: `{"task_id", "task_type", "payload", "webhook_url"}`."""

from tenure import Call, Tenure
from tenure.foreign import Foreign, read_task

from .tasks import Answer, register

app = Tenure()
register(app)


@app.on_foreign
def route(foreign: Foreign) -> Call[Answer] | None:
    """By the type that stands in the message."""
    task = read_task(foreign)
    return None if task is None or task.type not in app.tasks else task.call(app.tasks[task.type])
