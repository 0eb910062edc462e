"""Which file system a path is on, and what that means for a file that processes share by locks. Pure.

`/proc/self/mountinfo` names every mount of this process. A network file system may not keep locks between machines, and
its shared memory is one machine's; what is in memory is gone with the machine. Used by the adapters that keep files.
"""

import re
from pathlib import PurePosixPath

from tenure.finding import Finding, Severity

#: File systems of which another machine has the disk.
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "lustre", "gfs2",
    "ocfs2", "afs", "beegfs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.blobfuse",
    "fuse.mountpoint-s3", "davfs", "fuse.davfs2", "webdav", "efs",
})  # fmt: skip
#: File systems that are gone when the machine or the container is.
VOLATILE = frozenset({"tmpfs", "ramfs"})
_OCTAL = re.compile(r"\\([0-7]{3})")
#: Of a line: where it is mounted.
_MOUNT_POINT = 4


def type_of(path: str, mountinfo: str) -> str | None:
    """The type of the file system that has `path`, an absolute one. None: no mount was read."""
    wanted, found, deepest = PurePosixPath(path), None, -1
    for line in mountinfo.splitlines():
        mount, _, rest = line.partition(" - ")
        words, types = mount.split(), rest.split()
        if len(words) <= _MOUNT_POINT or not types:
            continue
        point = PurePosixPath(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), words[_MOUNT_POINT]))
        depth = len(point.parts)
        if wanted.is_relative_to(point) and depth >= deepest:  # of two on one point the later one is on top
            found, deepest = types[0], depth
    return found


def find_unfit(subject: str, kind: str) -> list[Finding]:
    """The finding about a shared database on a file system of this type; none if it is fit."""
    if kind in NETWORK:
        evidence = (
            f"it is on a network file system ({kind}); its locks and its shared memory do not hold between machines, "
            "so messages may run twice and the file may be damaged"
        )
        remedy = "Move the file to a local disk; for several machines use Redis, SQS or Azure"
        return [Finding("network_file_system", Severity.CRITICAL, subject, evidence, remedy)]
    if kind in VOLATILE:
        evidence = f"it is in memory ({kind}): every message is gone when the machine or the container restarts"
        remedy = "Move the file to a disk, in a container to a volume"
        return [Finding("volatile_file_system", Severity.WARNING, subject, evidence, remedy)]
    return []
