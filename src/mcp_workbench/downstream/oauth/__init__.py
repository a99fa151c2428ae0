"""Access tokens for remote servers: obtains, stores and renews them, and adds them to every request.

Owns everything between a server's 401 and a request that it accepts. Does not know what is in the
requests. Nothing here is imported before a server with a `url` is used, and the SDK only for a login or
for client credentials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_workbench.downstream.oauth.bearer import BearerAuth
from mcp_workbench.downstream.oauth.client_credentials import ClientCredentialsAuth
from mcp_workbench.downstream.oauth.login_store import LoginStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

    from mcp_workbench.config import Secrets, ServerConfig

__all__ = ["authorization"]


def authorization(
    origin: tuple[str, str],
    config: ServerConfig,
    environ: Mapping[str, str],
    hide: Callable[[Secrets], None],
) -> httpx2.Auth | None:
    """Return what authorizes requests to the server `origin` (toolbox and name); None if its own headers
    do.

    `hide` is called with every token before it is used, so that it is masked in errors and logs. Requests
    may raise LoginRequired and TokenUnavailable, in addition to httpx2's errors.
    """
    if config.url is None or config.has_authorization:
        return None
    if config.oauth is not None and config.oauth.grant == "client_credentials":
        return ClientCredentialsAuth(config.url, config.oauth, hide)
    return BearerAuth(origin, config.oauth, LoginStore(environ, origin, config.url), hide)
