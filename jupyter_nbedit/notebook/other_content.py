"""Find conflicts of version control, and pointers to another file, instead of a notebook."""

import re

from jupyter_nbedit.errors import InvalidNotebook

# No line of valid JSON begins so: a string has no line breaks.
_CONFLICT = re.compile(rb"(?m)^(<<<<<<<|>>>>>>>|=======|\|\|\|\|\|\|\|)(?: [^\r\n]*)?\r?$")
_LFS = re.compile(rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/")
_ANNEX = re.compile(rb"(?:\.\./)*(?:\.git)?/annex/objects/")
# A pointer is a small file.
_POINTER_BYTES = 1_024
_MAX_SHOWN_BYTES = 60


def recognize_other_content(text: bytes) -> InvalidNotebook | None:
    """Return the error for a file that is not valid JSON; None if it is not known what it is."""
    beginning = text[:_POINTER_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if _LFS.match(beginning):
        message = (
            "The file is a pointer of Git LFS, and not the notebook itself, which was not "
            "downloaded. Ask the user to run `git lfs pull`."
        )
        return InvalidNotebook(message, found="lfs_pointer")
    if _ANNEX.match(beginning):
        message = (
            "The file is a pointer of git-annex, and not the notebook itself, which is not here. "
            "Ask the user to run `git annex get`."
        )
        return InvalidNotebook(message, found="annex_pointer")
    conflict = _CONFLICT.search(text)
    if conflict is None:
        return None
    line = text.count(b"\n", 0, conflict.start()) + 1
    marker = conflict[0].rstrip()[:_MAX_SHOWN_BYTES].decode(errors="replace")
    message = (
        f"The file has an unresolved conflict of a merge: line {line} is `{marker}`. Ask the user "
        "to resolve it, for example with `nbdime mergetool`, or to choose one side with `git "
        "checkout --ours` or `--theirs`."
    )
    return InvalidNotebook(message, found="conflict", line=line)
