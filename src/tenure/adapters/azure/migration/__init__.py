"""From the tables of versions before the shared core into its own.

    layout.py     what the rows of the earlier versions say
    earlier.py    reading them: messages in pairs of rows, claims, and all else
    standing.py   what must end first: messages that wait or run, endings that were not announced, workers
    progress.py   how far a migration is: one row of the new table
    messages.py   dead letters, ended messages and keys
    beside.py     documents, the board, schedules, the audit log, samples, statistics
    gate.py       refuses to start over tables that nobody carried
    migrator.py   all of it in order

Nothing is changed in the earlier tables. Each row of the new table is inserted where there is none, so a migration that
was ended anywhere and is repeated loses nothing and doubles nothing. It does not use the code that wrote those rows.
"""
