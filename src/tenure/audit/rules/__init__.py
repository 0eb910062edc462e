"""The rules, one file a family. Each is a function from a module to its hits; none knows another."""

from tenure.audit.rule import Check
from tenure.audit.rules.beating import ending_heartbeats, late_heartbeats
from tenure.audit.rules.blocking import blocking_calls
from tenure.audit.rules.calling import impossible_calls
from tenure.audit.rules.celery import celery_settings
from tenure.audit.rules.deduplicating import rewritten_logs
from tenure.audit.rules.deleting import never_deleted, popped, too_early, unread_batches
from tenure.audit.rules.dramatiq import dramatiq_settings
from tenure.audit.rules.forgiving import forgiven_errors
from tenure.audit.rules.giving_up import dropped
from tenure.audit.rules.handing_off import handed_off
from tenure.audit.rules.leasing import batches, hard_coded, without_timeout, zero_timeouts
from tenure.audit.rules.polling import short_polls
from tenure.audit.rules.reclaiming import never_reclaimed
from tenure.audit.rules.rq import rq_settings
from tenure.audit.rules.swallowing import swallowed_errors
from tenure.audit.rules.throwing_away import brokers_in_memory
from tenure.audit.rules.updating import updates_without_timeout

CHECKS: tuple[Check, ...] = (
    hard_coded,
    without_timeout,
    batches,
    zero_timeouts,
    never_deleted,
    too_early,
    swallowed_errors,
    unread_batches,
    forgiven_errors,
    popped,
    handed_off,
    never_reclaimed,
    dropped,
    updates_without_timeout,
    late_heartbeats,
    ending_heartbeats,
    rewritten_logs,
    blocking_calls,
    short_polls,
    impossible_calls,
    celery_settings,
    dramatiq_settings,
    rq_settings,
    brokers_in_memory,
)
