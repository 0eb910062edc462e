"""Late acks with more than one task ahead."""

from celery import Celery

app = Celery("exports", broker="amqp://localhost")
app.conf.update({
    "task_acks_late": True,  # expect: TQ803 TQ804
    "worker_prefetch_multiplier": 8,
})
