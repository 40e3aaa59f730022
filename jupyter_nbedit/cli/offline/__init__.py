"""The REST API without a server: the same handlers, called in this process.

`server.OfflineServer` answers requests. Importing it takes long, because it loads the contents
manager and nbformat. Therefore callers import it only when no server serves a notebook.
"""

import sys

# nbformat imports jsonschema, which would build the grammar of IRIs with this optional package.
# This would take 2 s of CPU, and no schema of notebooks or events has an IRI.
if "jsonschema" not in sys.modules:
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type] # means: not installed
