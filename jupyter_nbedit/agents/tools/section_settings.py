"""The settings of the toolset ``sections``, ``c.SectionsToolset`` in Jupyter's configuration."""

from traitlets import List, Unicode
from traitlets.config import Configurable


class SectionsToolset(Configurable):
    """The settings of the tool ``sections/notebook_edit``."""

    section_files = List(
        Unicode(),
        default_value=["external-communications", "reminders", "standing-orders"],
        config=True,
        help="""Short names of files for the tool `sections/notebook_edit`: each means the Markdown
        file of that name in the folder `runtime` below the root, such as `runtime/reminders.md`.
        The default is external-communications, reminders and standing-orders. The tool accepts the
        path of any Markdown file or notebook as well.""",
    )

    owners = List(
        Unicode(),
        config=True,
        help="""The names of the users who may call the tool `sections/notebook_edit`; for others it
        is an error, 403 `forbidden`. Empty (the default) means every user with write permission.
        The names are those of the server's identity provider. Jupyter's own provider makes up a
        name for each request with a token, so use this only with JupyterHub or another
        provider.""",
    )
