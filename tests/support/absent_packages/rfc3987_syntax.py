"""An optional package that is not there by day, so that jsonschema does without it.

It builds the grammar of IRIs when it is imported: that is more than half of the CPU that a server
needs to start, and no schema of ours has an IRI. `jupyter_nbedit.cli.offline` does without it, too.
"""

raise ImportError("not installed by day, see tests/support/absent_packages")
