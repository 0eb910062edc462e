"""Consumers: programs in any language that lease messages over HTTP and settle them.

    lease_token       what a client gets instead of a lease: a signed name of it
    leased_here       the leases that this process lent, so that most requests need no look-up
    remote_delivery   one message that a client works on
    queue_choice      which queues a request means, and which of them are open
    leasing           one request for messages: wait, lease, claim, fetch bodies
    answers           what a request was answered with, for a repeat at another server
    lookup            from tokens to leases, wherever and whenever they were lent
    settling          ends messages and gives clients one outcome for each
    touching          renews leases, with progress
    reporting         counts and events, as a worker has them
    activity          what each consumer does, for people who look at workers
    consumers         all of it, for the routes

The owner of every lease here is `http:{token id}/{consumer}`. Taking a message and giving it up is
`runtime/ownership`'s, as for a worker. Called by `routes/lease.py`, `routes/settle.py` and `routes/settle_one.py`.
"""
