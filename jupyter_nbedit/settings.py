"""The settings of the extension, ``c.NbEditApp`` in Jupyter's configuration."""

from traitlets import Bool, Enum, Float, Integer, List, Unicode
from traitlets.config import Configurable


class NbEditSettings(Configurable):
    """The settings, for a server and for edits without one."""

    mode = Enum(
        ["edit", "review", "plan"],
        default_value="edit",
        config=True,
        help="""What requests may do. "edit" (the default): they change notebooks. "review": a
        change becomes a proposal, which a person accepts or rejects, whole or cell by cell.
        "plan": every change is an error, 403 `plan_mode`; a dry run is allowed and shows what the
        change would be. A user with write permission can change the mode of the running server and
        of single notebooks; see `mode_is_fixed`.""",
    )

    mode_is_fixed = Bool(
        default_value=False,
        config=True,
        help="""Whether requests to change the mode of the server or of a notebook are an error, 403
        `forbidden`. The default is False. Of the modes that notebooks already have, only those
        that are stricter than the server's stay in effect.""",
    )

    own_decisions = Bool(
        default_value=True,
        config=True,
        help="""Whether the client that has proposed a change may accept it, over REST or by the
        command line. The default is True: the history names who accepted. If False, that is an
        error, 403 `forbidden`, for the same user, client and session (`X-NbEdit-Session`); a
        request without a session may be of any. Client and session are as the client states them,
        so this holds for programs that mean well. A person in an open page is not concerned.""",
    )

    proposal_hours = Float(
        24.0,
        min=0.01,
        max=24.0 * 365,
        config=True,
        help="""How long a proposal can be accepted or rejected, in hours; default 24. Then it
        expires, and after the same time again it is deleted.""",
    )

    max_proposals = Integer(
        1_000,
        min=1,
        config=True,
        help="""The largest number of pending proposals; default 1000. More are an error, 409
        `too_many_proposals`. Together they may have 256 MiB.""",
    )

    max_request_bytes = Integer(
        16 * 1024 * 1024,
        min=1024,
        config=True,
        help="""The largest body of a request, in bytes; default 16 MiB, at least 1024. A larger one
        is an error, 413 `too_large`. Notebooks may be of any size.""",
    )

    read_before_edit = Bool(
        default_value=False,
        config=True,
        help="""Whether a client must have read the current version of a notebook, in the same
        session (the header `X-NbEdit-Session`, else the user), before it edits the notebook. If it
        has not, the edit is an error: 428 `read_required`, or 412 `hash_mismatch` if the notebook
        has changed since it was read. Dry runs are exempt. The default is False; the tools of the
        toolset `claude_code` always require it.""",
    )

    links_outside_root = Bool(
        default_value=True,
        config=True,
        help="""Whether a symbolic link below the root may lead to a notebook or a folder outside of
        the root. The default is True, as in Jupyter's own Contents API, which the same users can
        use. If False, edits, reads and searches treat the target of such a link as missing. Tools
        never follow such links. With the MetaManager of jupyter-fs, all of them follow such links,
        whatever the value is.""",
    )

    section_files = List(
        Unicode(),
        config=True,
        help="""Deprecated: set `SectionsToolset.section_files`, whose default are three names.""",
    )

    owners = List(
        Unicode(),
        config=True,
        help="""Deprecated: set `SectionsToolset.owners`, whose default is everybody.""",
    )

    history_max_bytes = Integer(
        256 * 1024 * 1024,
        min=1024 * 1024,
        config=True,
        help="""The largest size of the edit history in bytes, for all servers of one user and all
        notebooks together; default 256 MiB, at least 1 MiB. The oldest edits are deleted first, and
        a deleted edit cannot be undone. An edit that needs more than half of the size cannot be
        undone either.""",
    )

    history_max_days = Integer(
        30,
        min=1,
        config=True,
        help="""For how many days the edit history keeps an edit; default 30. The history contains
        what edits have deleted from notebooks. It is the file `nbedit/history.sqlite3` in Jupyter's
        data folder (`jupyter --data-dir`), which only you can read; DELETE of the `history` of a
        notebook purges it.""",
    )

    follow_outside_changes = Bool(
        default_value=True,
        config=True,
        help="""Whether the server follows notebooks that are open in JupyterLab when another
        program changes their files: tabs show the change at once, and the history has it. The
        default is True. Every half a second the server looks at the status of each open notebook's
        file, and it keeps copies of these notebooks, at most 256 MiB, in Jupyter's data folder. If
        False, tabs notice such a change after some seconds, and it cannot be undone.""",
    )

    offer_to_jupyter_server_mcp = Bool(
        default_value=False,
        config=True,
        help="""Whether the extension jupyter_server_mcp, if it is installed, gets the tools of the
        toolset `agent`. The default is False: its port (3001) takes no token and asks for no
        permissions, so that every program and user on the machine could edit notebooks. The
        endpoint `nbedit/mcp` has the same tools.""",
    )
