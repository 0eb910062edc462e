"""`tenure simulate`: what a lease policy would do to a workload, on virtual time.

Start reading at `command.py`. `sources.py` says how long runs take, `telling.py` shows what came of it,
`waiting.py` shows the progress.
"""
