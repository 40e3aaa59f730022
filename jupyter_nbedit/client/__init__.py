"""The REST API for scripts, for the command line and for the bridge.

`find_server` finds the running server that serves a notebook; a `Client` sends requests to it.
Only the standard library is imported, and ``jupyter_core`` if the runtime folder is needed.
"""

from jupyter_nbedit.client.client import Client as Client
from jupyter_nbedit.client.discovery import ServerState as ServerState
from jupyter_nbedit.client.discovery import find_server as find_server
from jupyter_nbedit.client.discovery import inspect_servers as inspect_servers
from jupyter_nbedit.client.server import Server as Server
