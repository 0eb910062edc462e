"""An app that loses nothing and takes one task at a time."""

from celery import Celery

from video import transcode

app = Celery("videos", broker="redis://localhost:6379/0")
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={"visibility_timeout": 12 * 60 * 60},
)


@app.task(time_limit=3600)
def encode(path):
    transcode(path)


def later(path):
    encode.apply_async((path,), countdown=600)
