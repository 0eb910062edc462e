"""Late acks for all, said once for lost workers; and a task that must not run twice acks early, aloud."""

from celery import Celery

from billing import charge, render

app = Celery("billing", broker="amqp://localhost")
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1)


@app.task(acks_late=False)
def once(order):
    charge(order)


@app.task(acks_late=True)
def page(order):
    render(order)
