"""`http_app`: the workbench over HTTP as an ASGI application, to be served or mounted by the program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_workbench.errors import ConfigError, Problem
from mcp_workbench.library.workbench import load_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_workbench.errors import StrPath
    from mcp_workbench.library.asgi import HttpApp
    from mcp_workbench.workbench.door import Decider, Observer


def http_app(
    config: Mapping[str, object] | StrPath,
    *,
    path: str = "/mcp",
    host: str = "127.0.0.1",
    token_file: StrPath | None = None,
    environ: Mapping[str, str] | None = None,
    deciders: Sequence[Decider] = (),
    observers: Sequence[Observer] = (),
) -> HttpApp:
    """Return an ASGI application that serves a configuration over MCP's Streamable HTTP at `path`.

    `config` is a dict or the path of a file, which is then watched as by `mcp-workbench serve --http`.
    `host` is the address or the name at which clients reach the application. Without `token_file` or an
    issuer under `http.oauth`, only this machine may use it. The application's `lifespan` has to run. Raises
    ConfigError, and ValueError if `path` does not begin with a slash.
    """
    # These load a web framework, which programs that do not serve have no use for.
    from mcp_workbench.config.tokens import load_tokens  # noqa: PLC0415 - see above
    from mcp_workbench.library.asgi import HttpApp  # noqa: PLC0415 - see above
    from mcp_workbench.serve.admission.files import OPEN_TO_OTHERS, needs_token  # noqa: PLC0415 - see above
    from mcp_workbench.storage.secret_lookup import secret_lookup  # noqa: PLC0415 - see above

    if not path.startswith("/"):
        raise ValueError(f"the path has to begin with a slash: {path!r}")
    environ = os.environ if environ is None else environ
    loaded = load_config(config, environ)
    tokens = (
        None
        if token_file is None
        else load_tokens(os.fspath(token_file), environ, lookup=secret_lookup(environ))
    )
    if tokens is None and needs_token(host, loaded):
        remedy = (
            "Pass token_file, the path of a file with tokens that `mcp-workbench token` makes; or name an "
            'issuer of access tokens: "oauth" under "http" in the configuration; or serve on 127.0.0.1 only.'
        )
        raise ConfigError("http_app", [Problem(f"host {host}", OPEN_TO_OTHERS, remedy)])
    return HttpApp(
        loaded, tokens, path=path, host=host, environ=environ, deciders=deciders, observers=observers
    )
