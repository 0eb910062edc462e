"""The suites over accounts of yours, if you name them: real services, real time, real (small) cost.

    TENURE_LIVE_SQS='sqs://eu-west-1' make test ARGS=tests/live
    TENURE_LIVE_AZURE='azure://account' make test ARGS=tests/live

Credentials come as they do for the adapter. Everything that is made has a random name that begins with `tl`, and is
removed at the end of its test; the one table of DynamoDB at the end of the run. An advance of more than
`MOST_SECONDS` is not waited for: such tests do not apply here. Without the variables, both files are skipped.
"""
