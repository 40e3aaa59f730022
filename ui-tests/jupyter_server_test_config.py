"""The server the browser tests talk to: Galata's settings, with security left on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jupyterlab.galata import configure_jupyter_server  # type: ignore[import-untyped]

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
configure_jupyter_server(c)

# The extension of docs/extending.md; its other half the test that drives it builds.
sys.path.append(str(Path(__file__).parent / "example"))
c.ServerApp.jpserver_extensions = {"nbedit_example": True}

# Galata turns these off; a user's server has them on, and so has this one.
c.IdentityProvider.token = os.environ["NBEDIT_TOKEN"]
c.ServerApp.disable_check_xsrf = False
c.ServerApp.allow_unauthenticated_access = False

# As Galata does for JupyterLab.
c.JupyterNotebookApp.expose_app_in_browser = True

c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = int(os.environ["NBEDIT_PORT"])
c.ServerApp.allow_root = True
c.LabApp.workspaces_dir = os.environ["JUPYTERLAB_WORKSPACES_DIR"]
c.FileContentsManager.delete_to_trash = False
