"""The server the browser tests talk to: Galata's settings, with security left on."""

import os
import re
import sys
from pathlib import Path
from typing import Any

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

# The authorizer of docs/operate.md, for pages with the cookie of `tests/rights.ts`.
documented = (Path(__file__).parent.parent / "docs" / "operate.md").read_text()
(block,) = re.findall(r"```python\n(.*?class ReadersAndWriters.*?)```", documented, re.DOTALL)
exec(block)  # noqa: S102 - our own documentation


class CookieAuthorizer(ReadersAndWriters):  # type: ignore[name-defined,misc] # noqa: F821 - see above
    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        if handler.get_cookie("nbedit-reads-only") is None:
            return True
        return bool(super().is_authorized(handler, user, action, resource))


c.ServerApp.authorizer_class = CookieAuthorizer
