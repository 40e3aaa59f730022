"""Errors of the operating system as errors of this package, without paths."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit import errors
from jupyter_nbedit.system.os_calls import is_denied_by_windows, is_in_use

#: The errors of a missing path, of a full disk, and of a missing permission.
NOT_FOUND_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
NO_SPACE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN_ERRNOS = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def map_os_errors() -> Iterator[None]:
    """Raise an `OSError` as an error of this package; nothing was written."""
    try:
        yield
    except OSError as error:
        code = error.errno or 0
        description = os.strerror(code)
        if code in NOT_FOUND_ERRNOS:
            raise errors.NotebookNotFound from error
        if is_in_use(error):
            raise errors.Busy(
                "Another program, such as an antivirus program, has the notebook's file open, and "
                "Windows does not let it be replaced meanwhile. Nothing was written; try again, or "
                "close that program."
            ) from error
        if is_denied_by_windows(error):
            raise errors.Forbidden(
                "Windows denies the server access to the notebook's file: the server may not do "
                "this, or another program, such as an antivirus program, has the file open. "
                "Nothing was written."
            ) from error
        if code in FORBIDDEN_ERRNOS:
            raise errors.Forbidden(
                f"The server may not do this to the notebook's file ({description}); nothing was "
                "written."
            ) from error
        if code in NO_SPACE_ERRNOS:
            raise errors.NoSpace(
                "The edited notebook cannot be stored, because of missing space or a size limit "
                f"({description}); nothing was written."
            ) from error
        if code == errno.EBUSY:
            raise errors.NotAPlainFile(
                "The operating system does not let the notebook's file be replaced "
                f"({description}): most likely the file is mounted by itself, as `docker -v "
                "a.ipynb:...` does, and such a file can only be written in place. Mount the "
                "folder that holds it instead. Nothing was written."
            ) from error
        message = f"The operating system failed ({description}); the file is as it was."
        raise errors.StorageFailure(message, applied=False) from error
