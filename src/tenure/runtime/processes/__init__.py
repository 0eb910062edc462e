"""Child processes that run one handler at a time: `runs_in=process`, and messages that run alone."""
