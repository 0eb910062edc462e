"""Each task says late acks, and nothing of its process."""

from celery import Celery

from exports import export, render

app = Celery("exports", broker="amqp://localhost")
app.conf.worker_prefetch_multiplier = 1


@app.task(acks_late=True)  # expect: TQ804
def nightly(day):
    export(day)


@app.task(acks_late=True, reject_on_worker_lost=True)
def page(number):
    render(number)
