"""The overview: everything that goes on at a store, of one moment. Shown by `tenure top` and the server.

rows.py      the values
flows.py     what the tallies say of the last minutes, by queue and task
reading.py   from a store to an overview; asked again, it reads only what is new of the tallies
headline.py  one sentence: is work flowing, what is stuck, since when
format.py    figures in at most six characters

Everything but `reading.py` is pure.
"""
