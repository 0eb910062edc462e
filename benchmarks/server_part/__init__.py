"""The claims about `tenure serve`, on SQLite and on Redis: one server process, asked by processes of their own."""
