"""CloudWatch without an SDK: the figures that scale workers, the policies that read them, and the embedded format.

    signal.py    what is published of each queue, by the names that policies use
    policy.py    target tracking and the step from zero, as the JSON that the AWS command line takes
    emf.py       metrics as log lines (embedded metric format)

The call that publishes is `adapters/aws/cloudwatch.py`.
"""
