"""Webhooks: endings of messages, posted to the receivers that asked for them.

    endpoint      a receiver: its URL, who may use it, its secrets; kept by `endpoints`
    secret        secrets at rest: sealed, or a reference to where they are
    signature     Standard Webhooks: signing, and `verify` for receivers
    address       which URLs and addresses may be called; `transport` posts to them and nowhere else
    targets       what a message asks for, as text: `webhook:orders`
    announcer     reads announcements and makes deliveries of them; `webhook_target` is its kind for webhooks
    delivery      what a delivery is: a message on the reserved queue, and the body that the receiver gets
    deliver       the task that posts a delivery; `outcome` judges what came of it
    breaker       when a failing endpoint rests; `health` is what all workers know of it
    window        at most 100 deliveries of an endpoint at a time
    host_gate     one slow receiver does not take every slot

To verify a request needs none of the extra's packages:

    from tenure.webhooks import verify
"""

from tenure.errors import SignatureExpired, SignatureInvalid, WebhookError, WebhookRefused
from tenure.webhooks.signature import Webhook, verify

__all__ = ["SignatureExpired", "SignatureInvalid", "Webhook", "WebhookError", "WebhookRefused", "verify"]
