"""Error messages for failures of the file system, such as a full disk or a folder that cannot be written."""

from __future__ import annotations

import errno

CURES = {
    errno.ENOSPC: "free disk space or name a folder on another disk; the same command then continues",
    errno.EDQUOT: "free disk space or name a folder on another disk; the same command then continues",
    errno.EROFS: "name a folder on a disk that is not mounted read-only",
    errno.EACCES: "name a folder or file that you may read and write, or change its permissions",
    errno.EPERM: "name a folder or file that you may read and write, or change its permissions",
    errno.ENOTDIR: "a file of that name exists where a folder is needed: name another folder",
    errno.EEXIST: "a file of that name exists where a folder is needed: name another folder",
    errno.EISDIR: "a folder of that name exists where a file is needed: name a file",
    errno.ENOENT: "name a file or folder that exists",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "this is a symbolic link, and nothing is written through it: name a file or folder of its own",
    errno.EIO: "the disk reports a hardware fault: name a folder on another one",
}
"""Error number -> next step; any other system error is a bug of ours and keeps its traceback."""


def error_text(error: OSError) -> str:
    """Return two lines: the file with the system's message, and the next step.

    Example:
        >>> print(error_text(NotADirectoryError(20, "Not a directory", "run/config.yaml")))
        run/config.yaml: Not a directory
        Next: a file of that name exists where a folder is needed: name another folder
    """
    places = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    message = error.strerror or " ".join(str(error).split())
    where = f"{places}: " if places else ""
    return f"{where}{message}\nNext: {CURES[error.errno or 0]}"
