"""When open notebooks are looked at, and when what was found is taken for a change.

Times are in seconds; the times of examining depend on the times of looking.
"""

#: How often files are looked at: on average, a change is found after half of this time.
FILE_INTERVAL = 0.5
#: The same while a file was found that is still being written, or is not examined yet.
UNSETTLED_INTERVAL = 0.1
#: How often other managers are asked, which may send a request to another computer.
MODEL_INTERVAL = 2.0
#: If looking takes long, this many times as long passes until the next look.
FILE_PAUSES = 20
MODEL_PAUSES = 50
#: The longest pause between two looks at files: on a busy machine a look takes long once.
MAX_FILE_PAUSE = 2.0
#: How often a notebook that another program keeps writing is reported: at each look.
REPORT_INTERVAL = 0.45
#: A file that is missing or cannot be parsed may be half written if it was changed so recently.
SETTLE_TIME = 2.0
#: A large file is read when it has not changed for so long,
LARGE_QUIET_TIME = 0.4
#: or keeps changing for so long.
MAX_WAIT = 5.0
#: Two writes within one tick of the file system's clock leave the same times.
CLOCK_TICK = 2.0
