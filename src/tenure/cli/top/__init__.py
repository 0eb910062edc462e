"""`tenure top`: a place as a live table in the terminal, or as one snapshot for programs.

picture.py   the values: everything that is shown, of one moment
figures.py   what the tallies say of the last minutes, by queue and task
reading.py   from a place to a picture; remembers depths, for the rate at which work comes in
headline.py  one sentence: is work flowing, what is stuck, since when
format.py    figures in at most six characters
layout.py    which columns fit, and how wide they are
tables.py    the columns of queues, tasks, leases and workers
view.py      what the person looks at: tab, order, filter, selection; and what each key does to it
screen.py    picture and view → lines of text
keys.py      bytes of a terminal → names of keys
live.py      reads, draws and listens until q
document.py  the picture for `--json`
command.py   the command

Everything but `reading.py`, `live.py` and `command.py` is pure.
"""
