"""Decisions that every store shares, written once.

Each module holds one rule as a pure function, with a table of cases in its tests. Memory, SQLite and the cloud stores
call the function; a Lua script that must decide the same inside Redis is run against the same table of cases.
"""
