"""When open notebooks are looked at, and when what was found is taken for a change."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Times in seconds; the times of examining depend on the times of looking."""

    #: How often files are looked at: on average, a change is found after half of this time.
    file_interval: float = 0.5
    #: The same while a file was found that is still being written, or is not examined yet.
    unsettled_interval: float = 0.1
    #: How often other managers are asked, which may send a request to another computer.
    model_interval: float = 2.0
    #: If looking takes long, this many times as long passes until the next look.
    file_pauses: float = 20
    model_pauses: float = 50
    #: The longest pause between two looks at files: on a busy machine a look takes long once.
    max_file_pause: float = 2.0
    #: How often a notebook that another program keeps writing is reported: at each look.
    report_interval: float = 0.45
    #: A file that is missing or cannot be parsed may be half written if it was changed so recently.
    settle_time: float = 2.0
    #: A large file is read when it has not changed for so long,
    large_quiet_time: float = 0.4
    #: or keeps changing for so long.
    max_wait: float = 5.0
    #: Two writes within one tick of the file system's clock leave the same times.
    clock_tick: float = 2.0


TIMING = Timing()
