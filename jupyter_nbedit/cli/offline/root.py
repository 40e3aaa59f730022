"""Which folder the paths of work without a server are relative to."""

import os
from pathlib import Path


def choose_root(real_target: Path, folder: Path) -> Path:
    """Return the folder for a notebook or folder, whose path has no links.

    The root is ``folder`` if the target is in this folder, else the folder of the target. A folder
    that would be hidden there is a root itself, since nothing in it would be shown.
    """
    top = Path(os.path.realpath(folder))
    is_folder = real_target.is_dir()
    if is_folder and top in real_target.parents and _is_hidden(real_target, top):
        return real_target
    if real_target == top or top in real_target.parents:
        return top
    return real_target if is_folder else real_target.parent


def _is_hidden(target: Path, top: Path) -> bool:
    return any(part.startswith(".") for part in target.relative_to(top).parts)
