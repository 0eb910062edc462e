"""Late acks, half of the way; and runs that are longer than the broker waits."""

from celery import Celery

from video import transcode

app = Celery("videos")
app.conf.update(
    broker_url="redis://localhost:6379/0",
    task_acks_late=True,  # expect: TQ803 TQ804
    broker_transport_options={"visibility_timeout": 900},
)


@app.task(time_limit=3600)  # expect: TQ802
def encode(path):
    transcode(path)
