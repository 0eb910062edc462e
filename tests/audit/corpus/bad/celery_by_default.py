"""An app as the first steps show it: acknowledged before it runs, and a reminder in a day."""

from celery import Celery

from mailing import deliver

app = Celery("mails", broker="redis://localhost:6379/0")  # expect: TQ801


@app.task(bind=True, max_retries=3)
def send(self, address):
    try:
        deliver(address)
    except OSError as error:
        raise self.retry(exc=error) from error


def remind(address):
    send.apply_async((address,), countdown=24 * 60 * 60)  # expect: TQ802
