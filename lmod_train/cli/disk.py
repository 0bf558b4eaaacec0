"""What the file system refuses, with its cure: a full disk, a folder that cannot be written, a file in its place."""

from __future__ import annotations

import errno

CURES = {
    errno.ENOSPC: "free some room or name a folder on another disk; the same command then continues",
    errno.EDQUOT: "free some room or name a folder on another disk; the same command then continues",
    errno.EROFS: "name a folder that can be written",
    errno.EACCES: "name a folder or file that you may read and write, or change its permissions",
    errno.EPERM: "name a folder or file that you may read and write, or change its permissions",
    errno.ENOTDIR: "a file stands where a folder should be: name another folder",
    errno.EEXIST: "a file stands where a folder should be: name another folder",
    errno.EISDIR: "a folder stands where a file should be: name a file",
    errno.ENOENT: "name a file or folder that exists",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "the disk reports a fault: name a folder on another one",
}
"""Error number -> what to do; other errors of the system are ours, and keep their traceback."""


def said_of(error: OSError) -> str:
    """Return two lines: the file and what the system says of it, then the next step.

    Example:
        >>> print(said_of(NotADirectoryError(20, "Not a directory", "run/config.yaml")))
        run/config.yaml: Not a directory
        Next: a file stands where a folder should be: name another folder
    """
    places = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    said = error.strerror or " ".join(str(error).split())
    return (
        f"{places}: {said}\nNext: {CURES[error.errno or 0]}" if places else f"{said}\nNext: {CURES[error.errno or 0]}"
    )
