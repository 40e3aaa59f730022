"""What the handlers of notebooks and of cells share: a notebook is sent, or 304 is."""

import asyncio
from http import HTTPStatus

from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.editing import parse_etags
from jupyter_nbedit.handlers.spec import ETAG, Reply
from jupyter_nbedit.services.reading.models import ReadOptions, ReadReply
from jupyter_nbedit.text.notebook import read_as_text

#: The replies to a request that reads.
READ_REPLIES = {
    HTTPStatus.OK: Reply(ReadReply, "The notebook.", [ETAG]),
    HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [ETAG]),
}


class ReadingHandler(NbEditHandler):
    """A handler with verbs that read notebooks."""

    async def send_notebook(self, path: str, options: ReadOptions) -> None:
        """Read a notebook and send it, or 304 if the client has this version."""
        if self.prefers_text:
            notebook_hash, text = await read_as_text(
                self.services, path, options, session=self.session, is_known=self.is_known
            )
            if text is None:
                self.send_not_modified(notebook_hash)
            else:
                self.send_reply(text, str, headers={"ETag": f'"{notebook_hash}"'})
            return
        reply = await self.services.reader.read(
            path, options, session=self.session, is_known=self.is_known
        )
        if isinstance(reply, str):
            self.send_not_modified(reply)
            return
        headers = {"ETag": f'"{reply.hash}"'}
        self.send_response(await asyncio.to_thread(self.build_response, reply, headers=headers))

    def send_not_modified(self, notebook_hash: str) -> None:
        """Send that the client has this version already."""
        self.set_header("ETag", f'"{notebook_hash}"')
        self.set_status(HTTPStatus.NOT_MODIFIED)
        self.finish()

    def is_known(self, notebook_hash: str) -> bool:
        """Return whether the client has this version already, as it states."""
        tags = parse_etags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: the comparison is weak.
        return "*" in tags or notebook_hash in {tag.removeprefix("W/").strip('"') for tag in tags}
