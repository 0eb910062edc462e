"""The suites over accounts of yours, if you name them: real services, real time, real (small) cost.

    TENURE_LIVE_SQS='sqs://eu-west-1' make test ARGS="tests/live/test_live_sqs.py -n 8"
    TENURE_LIVE_AZURE='azure://account' make test ARGS="tests/live/test_live_azure.py -n 8"

Credentials come as they do for the adapter; run nothing else beside them, for the stand-ins bring their own. They
must be allowed to make, list and remove queues and tables; on Azure containers, too.

A run takes a quarter of an hour, nearly all of it waiting for leases to end; `-n 8` shares that out. It makes about
8 000 requests on either service, a cent or two at list price, and keeps nothing. An advance of more than
`MOST_SECONDS` is not waited for: such tests do not apply here. Without the variables, both files are skipped.

Everything that is made has a name that begins with `tlive` (`names.py`), and is removed at the end of its test, the
tables of DynamoDB at the end of the run; also after a failure, Ctrl-C or SIGTERM. What a killed run left goes at the
end of a later one, when it is an hour old (`session.py`).
"""
