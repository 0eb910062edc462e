"""When a replica follows its master: what the master writes from now on reaches it.

A link that is up is not enough, nor is `state=online` at the master. Redis 7.0 says both and holds every command back
until the replica's first acknowledgement, up to a second later; a master killed meanwhile takes them along. So
something is written, and has to arrive.
"""

from tests.servers.server import SOON, RedisServer, until


def until_replicated(master: RedisServer, replica: RedisServer, *, key: str = "probe", within: float = SOON) -> None:
    """Wait until `replica` has what `master` wrote after this call began. In a cluster `key` lies with the master."""
    until(lambda: _fact(replica, "master_link_status") == "up", "the replica has loaded its copy", within)
    master.ask("SET", key, "written")
    master.ask("DEL", key)
    written = int(_fact(master, "master_repl_offset"))
    until(lambda: int(_fact(replica, "slave_repl_offset")) >= written, "a write has reached the replica", within)


def _fact(server: RedisServer, name: str) -> str:
    for line in str(server.ask("INFO", "replication")).splitlines():
        found, _, value = line.partition(":")
        if found == name:
            return value.strip()
    return "0"  # a replica that has not met its master yet tells no offset
