"""Jupyter's configuration files, read without a server."""

from jupyter_core.paths import jupyter_config_path
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

from jupyter_nbedit.errors import ModesUnreadable

# In the order in which a server reads them for its extensions; those of applications such as
# JupyterLab do not count. A server also reads the files in the folder where it is started, but a
# folder in which an agent works must not decide what runs here.
_NAMES = ("jupyter_config", "jupyter_server_config", "jupyter_jupyter_nbedit_config")


def load_config() -> Config:
    """Return the merged configuration; files of the user override files of the system.

    Raise `ModesUnreadable` if a file fails, because it may be the one that forbids changes.
    """
    config = Config()
    for name in _NAMES:
        for folder in reversed(jupyter_config_path()):
            for loader in (
                PyFileConfigLoader(f"{name}.py", path=folder),
                JSONFileConfigLoader(f"{name}.json", path=folder),
            ):
                try:
                    config.merge(loader.load_config())
                except ConfigFileNotFound:
                    continue
                except Exception as error:
                    message = (
                        f"The configuration file {loader.full_filename or folder} cannot be read "
                        f"({type(error).__name__}: {error}), and it may say that changes need a "
                        "review. Nothing was read or written; correct the file."
                    )
                    raise ModesUnreadable(message) from error
    return config
