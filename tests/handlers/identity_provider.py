"""An identity provider with named users, as JupyterHub has."""

from typing import Any

from jupyter_server.auth import IdentityProvider, User


class AdaProvider(IdentityProvider):
    """Every user with the token is Ada."""

    def generate_anonymous_user(self, handler: Any) -> User:  # noqa: ARG002 -- as its parent's
        return User("ada")
