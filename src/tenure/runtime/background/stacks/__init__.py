"""Live stacks: a worker says where the handler of a message is, while it runs.

`frames` reads stacks of this process, `dump` those of a process that does not answer, `look` finds the run of one
message and looks at it, `answers` writes what was seen for the one who asked (`client/operations/stack.py`). For a
worker that does not move at all its supervisor answers (`supervisor/silent_workers.py`).
"""
