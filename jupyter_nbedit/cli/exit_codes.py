"""The exit codes of the commands."""

from jupyter_nbedit.client import errors
from jupyter_nbedit.errors import NbEditError

DONE = 0
#: The server, or the file without a server, refuses the request.
REFUSED = 1
#: The command line is wrong; `argparse` exits with this code.
USAGE = 2
#: No server was found, or no server has answered. If only the answer was lost, a change may have
#: been made.
NO_SERVER = 3
#: The notebook is not as the request expects it: read it and try again.
STALE = 4
#: The change was proposed, and is not made.
PROPOSED = 5
#: Ctrl-C has ended the command; shells use this code for all programs.
INTERRUPTED = 130

DESCRIPTION = (
    "Exit codes: 0 done, 1 refused, 2 usage, 3 no server or no answer (read before you repeat a"
    " change), 4 the notebook has changed (read it and try again), 5 proposed and not made."
)

# The reasons of errors that mean that the notebook is not as expected.
_STALE_REASONS = frozenset(
    (
        "cell_changed",
        "hash_mismatch",
        "read_required",
        "text_mismatch",
        "undo_conflict",
        "version_unknown",
    )
)


def get_exit_code(error: NbEditError | errors.ClientError) -> int:
    """Return the exit code of an error."""
    has_answer = isinstance(error, errors.ServerError)
    if (
        isinstance(error, errors.DiscoveryError | errors.TransportError | errors.ResponseError)
        and not has_answer
    ):
        return NO_SERVER
    return STALE if error.reason in _STALE_REASONS else REFUSED
