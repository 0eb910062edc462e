"""Actors only: which middleware there is says another file."""

import dramatiq

from mailing import deliver


@dramatiq.actor(queue_name="mails")
async def send(address):
    deliver(address)
