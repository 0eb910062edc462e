"""Each task decides, and a broker that keeps what is not acknowledged for as long as it takes."""

from celery import Celery

from mailing import deliver

app = Celery("mails", broker="amqp://localhost")


@app.task(acks_late=True, reject_on_worker_lost=True, time_limit=7200)
def send(address):
    deliver(address)


def remind(address):
    send.apply_async((address,), countdown=86400)
