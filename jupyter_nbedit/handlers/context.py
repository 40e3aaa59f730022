"""`HandlerContext`: what all handlers need; it is in the settings of the web application."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from logging import Logger

from jupyter_nbedit.agents.tools.base import ToolContext
from jupyter_nbedit.handlers.idempotency import IdempotencyCache
from jupyter_nbedit.handlers.large_requests import LargeRequestSlots
from jupyter_nbedit.handlers.spec import Route
from jupyter_nbedit.services.all_services import Services

#: The key of the context in the settings of the web application.
CONTEXT = "jupyter_nbedit_context"


@dataclass(frozen=True)
class HandlerContext:
    """The services, and what belongs to HTTP only."""

    services: Services
    tools: ToolContext
    routes: Sequence[Route]
    #: The size of the largest body.
    max_request_bytes: int
    log: Logger
    idempotency: IdempotencyCache = field(default_factory=IdempotencyCache)
    large_requests: LargeRequestSlots = field(default_factory=LargeRequestSlots)
