"""An invented group, half done, and one of its members that failed."""

import msgspec
from tests.dashboard import invented_records
from tests.dashboard.invented_store import NOW

from tenure.client.operations.groups import GroupDetail, MessageGroup
from tenure.client.operations.message_detail import MessageDetail
from tenure.group import GroupState, MemberResult, MemberState
from tenure.rules.group_id import member_id, then_id
from tenure.verdict import Reason

GROUP_ID = "grp_019c3a51e7c85d2be0417a9f3c6b8e20"
MEMBER_ID = member_id(GROUP_ID, 4_211)


def group() -> GroupDetail:
    """Nine of ten members have ended."""
    codec = Reason(
        "max_attempts", "gave up after 3 of 3 attempts; the last one: CodecError: no key frame", "", "CodecError"
    )
    gone = Reason("rejected", "the source was removed by its owner")
    failed = [(4_211, codec), (5_020, codec), (6_114, gone), (7_301, codec), (8_842, codec)]
    members = [MemberResult(id=member_id(GROUP_ID, place), state=MemberState.DEAD, reason=why) for place, why in failed]
    members.append(MemberResult(id=member_id(GROUP_ID, 9_003), state=MemberState.CANCELLED))
    return GroupDetail(
        id=GROUP_ID, state=GroupState.RUNNING, total=10_000, completed=9_114, dead=5, cancelled=1,
        created_at=NOW - 1_460, expires_at=NOW + 6 * 86_400, ended_at=None, queues=("transcode",), client="acme",
        then_id=then_id(GROUP_ID), then_task="publish_site", then_sent_at=None, failed=tuple(members),
    )  # fmt: skip


def member() -> MessageDetail:
    """A dead letter that is a member of it."""
    about = group()
    return msgspec.structs.replace(
        invented_records.dead_message(),
        id=MEMBER_ID,
        group=MessageGroup(
            id=GROUP_ID, state=about.state, total=about.total, ended=about.ended, failed=about.dead + about.cancelled,
            is_last=False,
        ),
    )  # fmt: skip
