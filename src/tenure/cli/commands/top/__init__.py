"""`tenure top`: a store as a live table in the terminal, or as one snapshot for programs.

layout.py    which columns fit, and how wide they are tables.py    the columns of queues, tasks, leases and workers
view.py      what the person looks at: tab, order, filter, selection; and what each key does to it screen.py    overview
and view → lines of text keys.py      bytes of a terminal → names of keys live.py      reads, draws and listens until q
command.py   the command

What is shown is an `Overview` (`client/operations/overview`). Everything but `live.py` and `command.py` is pure.
"""
