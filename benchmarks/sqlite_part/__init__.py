"""The claims about SQLite, against a bare sqlite3 loop on the same disk."""
