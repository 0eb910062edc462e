"""What people and programs do with a store from outside, as values: `app.operate`, and behind it one file a subject.

operate.py      `Operate`, the facade: every operation of the subjects below; `blocking.py`: the same without async
access.py       who asks, which queues they see, whether they see payloads; all subjects go through it
naming.py       names of queues as people write them; `ids.py`: beginnings of ids; `presence.py`: who is alive
queues.py       depths, pause, resume, purge, delete an empty queue
overview/       everything of one moment: queues and tasks with their rates, leases, workers, one sentence
figures.py      what was counted over some time, and its course
messages.py     a page of messages (`message_list`, `listed_message`, `run_figures`), one with its timeline
                (`message_detail`, `life`); cancel and delete
dead.py         dead letters: list, groups (`dead_groups`, `fingerprint`), redrive, delete; `resend`: move and edit
workers.py, schedules.py, leases.py, acts.py, events.py, settings.py, health.py    one subject each
bulk.py         acts on many messages: bounded, at a rate, found / done / skipped
redaction.py    what is left out for people who may not see payloads

The structs are what `tenure … --json` prints and what the server answers. Every act is written to the journal and the
audit log (`operating.py`). `None` is "cannot be known", 0 is "none".
"""
