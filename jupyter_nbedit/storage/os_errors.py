"""What the operating system says when it fails, as refusals that name no path."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit.errors import (
    Forbidden,
    NoSpace,
    NotAPlainFile,
    NotebookNotFound,
    StorageFailure,
)

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def map_os_errors() -> Iterator[None]:
    """Refuse what the operating system fails to do.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    try:
        yield
    except OSError as error:
        code = error.errno or 0
        said = os.strerror(code)
        if code in _NOT_THERE:
            raise NotebookNotFound from error
        if code in _NOT_ALLOWED:
            message = (
                f"The server may not do this to the notebook's file ({said}); nothing was written."
            )
            raise Forbidden(message) from error
        if code in _NO_SPACE:
            message = f"There is no room for the edited notebook ({said}); nothing was written."
            raise NoSpace(message) from error
        if code == errno.EBUSY:
            message = (
                f"The operating system does not let the notebook's file be replaced ({said}): most "
                "likely the file is mounted by itself, as `docker -v a.ipynb:...` does, and such a "
                "file can only be written in place. Mount the folder that holds it instead. "
                "Nothing was written."
            )
            raise NotAPlainFile(message) from error
        message = f"The operating system failed ({said}); the file is as it was."
        raise StorageFailure(message, applied=False) from error
