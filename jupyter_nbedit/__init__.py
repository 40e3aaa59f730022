"""Edit the cells of Jupyter notebooks over HTTP, exactly, while they are open in JupyterLab."""

from typing import Any

from jupyter_nbedit._version import __version__ as __version__


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Return where Jupyter Server finds the extension."""
    # Imported here: JupyterLab asks for the labextension without wanting a server.
    from jupyter_nbedit.app import NbEditApp  # noqa: PLC0415

    return [{"module": "jupyter_nbedit", "app": NbEditApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Return where the labextension is, for ``jupyter-builder develop``."""
    return [{"src": "labextension", "dest": "jupyter-nbedit"}]
