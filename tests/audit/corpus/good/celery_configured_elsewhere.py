"""Settings that are not in this file."""

from celery import Celery, shared_task

from mailing import deliver

app = Celery("mails")
app.config_from_object("mails.celeryconfig")


@shared_task
def send(address):
    deliver(address)


def remind(address, seconds):
    send.apply_async((address,), countdown=seconds)
    send.apply_async((address,), countdown=7200)
