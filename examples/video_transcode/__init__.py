"""Videos, transcoded by workers that come and go. See README.md.

pace           how fast time passes, and how long work takes by size
tasks          the app and its task: a size, a lease, a result that is published once
encoders       the work: ffmpeg, or sleeping in scaled time
clips          the videos to work on: a few seconds of a test picture, or sparse files of 60 MB to 6 GB
fleet          the worker processes                            python -m tenure worker video_transcode.tasks:app
autoscaler     starts and drains workers, as `app.operate.scaling` says
transcript     what happens, line by line, as the journal has it
evidence       the figures at the end, counted from journal, catalogue and files
acts           the story: three videos wait; a worker is killed; one gets a spot notice
__main__       tells it                                        python -m video_transcode
"""
