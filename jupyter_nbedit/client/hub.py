"""What a JupyterHub answers in the place of the server of a user.

Its proxy sends a request to the Hub if no running server has that path. The Hub then redirects to
the same path below ``hub/``, where it has pages for people.
"""

from http import HTTPStatus
from urllib.parse import quote, unquote, urlsplit

from jupyter_nbedit.client.errors import ClientError, InvalidAddress, ServerNotRunning
from jupyter_nbedit.client.server import Address, Response

# The Hub, and the servers of its users, have it in each response.
_VERSION_HEADER = "X-JupyterHub-Version"
_HUB = "/hub/"
_USER = "user"
# What the Hub answers to programs for a server that is not running; older Hubs answer 503.
_NOT_RUNNING = (424, 503)
_BAD_GATEWAY = (502, 503, 504)


def is_from_hub(response: Response) -> bool:
    """Return whether a response comes from a JupyterHub, or from the server of one of its users."""
    return _VERSION_HEADER in response.headers


def explain_hub(address: Address, target: str, response: Response) -> ClientError | None:
    """Return the error that a response to a GET is, if a Hub or a proxy has answered it.

    Return `ServerNotRunning` or `InvalidAddress`; None if something else has answered.
    """
    if is_from_hub(response):
        return _explain_redirect(address, target, response) or _explain_page(address, response)
    if response.status in _BAD_GATEWAY:
        return ServerNotRunning(
            f"No server answers at {address.url}: a proxy is there, and says {response.status}. "
            "The server has ended, or is starting. Start it again, or wait for it; on a "
            f"JupyterHub, do so at {_get_site(address)}/hub/home."
        )
    return None


def _explain_redirect(address: Address, target: str, response: Response) -> ClientError | None:
    """Return the error of a redirect from a path to the same path of the Hub."""
    location = urlsplit(response.headers.get("Location", ""))
    prefix = _find_prefix(unquote(location.path), unquote(address.base_url + target))
    if prefix is None or not response.is_redirect:
        return None
    # The Hub may have a domain of its own.
    site = f"{location.scheme}://{location.netloc}" if location.netloc else _get_site(address)
    names = unquote(address.base_url)[len(prefix) :].strip("/").split("/")
    return _explain_names(address, f"{site}{quote(prefix)}", names)


def _find_prefix(inside: str, outside: str) -> str | None:
    """Return what is before ``/hub`` in the path ``inside``; ``outside`` is it without ``/hub``."""
    positions = [at for at in range(len(inside)) if inside.startswith(_HUB, at)]
    lengths = [at for at in positions if inside[:at] + inside[at + len(_HUB) - 1 :] == outside]
    return inside[: lengths[-1]] if lengths else None


def _explain_page(address: Address, response: Response) -> ClientError | None:
    """Return the error of an address that is one of the Hub's own pages."""
    base_url = unquote(address.base_url)
    prefix, is_page, page = base_url.rpartition(_HUB)
    site = _get_site(address)
    if not is_page:
        # If the address has no user name, the Hub takes the target for a user name.
        prefix, is_folder, rest = base_url.rpartition(f"/{_USER}/")
        is_incomplete = bool(is_folder) and not rest and response.is_redirect
        return _explain_names(address, f"{site}{quote(prefix)}", []) if is_incomplete else None
    names, hub = page.strip("/").split("/"), f"{site}{quote(prefix)}"
    if response.status in _NOT_RUNNING:
        return _explain_names(address, hub, names)
    if response.is_redirect or response.status == HTTPStatus.NOT_FOUND:
        return _build_address_error(address, hub, names)
    return None


def _explain_names(address: Address, hub: str, names: list[str]) -> ClientError:
    """Return the error of a path of which the Hub has no running server."""
    if names[:1] != [_USER] or len(names) == 1:
        return _build_address_error(address, hub, names)
    # What follows the user may be the name of a server, or a page of it.
    start = f"spawn/{quote(names[1])}" if len(names) == 2 else "home"  # noqa: PLR2004 -- both names
    return ServerNotRunning(
        f"The server of {names[1]!r} at {address.url} is not running: the JupyterHub has stopped "
        f"it, or it was never started. Nothing was read or written. Start it at {hub}/hub/{start}, "
        "and try again."
    )


def _build_address_error(address: Address, hub: str, names: list[str]) -> InvalidAddress:
    is_named = names[:1] == [_USER] and len(names) > 1
    name = quote(names[1]) if is_named else "NAME"
    return InvalidAddress(
        f"{address.url} is the address of a JupyterHub, not of the server of a user. Give "
        f"{hub}/user/{name}/{'' if is_named else ' with the name of the user'}."
    )


def _get_site(address: Address) -> str:
    """Return the address without a path."""
    return address.url.removesuffix(address.base_url)
