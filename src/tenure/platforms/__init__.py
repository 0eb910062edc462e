"""Platforms: what a worker tells the machine's manager, and what it hears from it.

    guard.py        tells a manager whether leases are held, so that it does not stop this machine to scale in
    ecs.py          Amazon ECS: task scale-in protection
    kubernetes.py   Kubernetes: the pod's deletion cost, and what autoscalers of nodes read
    notices.py      drains the worker when the machine is about to be taken away
    ec2.py          Amazon EC2: spot interruptions and scale-in
    azure_vm.py     Azure virtual machines: scheduled events
    calls.py        small HTTP requests to managers, without a library
    choosing.py     from the names of `--platform` to the parts above

Nothing here is needed to keep a promise: a worker that a manager stops returns what it holds. It saves the work that
would be run again. Used by `tenure worker --platform`.
"""
