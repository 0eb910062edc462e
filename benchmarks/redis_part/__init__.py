"""The claims about Redis, against bare redis-py loops on the same server: a local one, started here."""
