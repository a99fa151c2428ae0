"""The causes for which a server cannot be used: a stable code each, and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_workbench.errors import Cause

CAUSES: Final[Mapping[Cause, str]] = {
    "program-missing": "The program in `command` is not installed, or not on the `PATH` of the workbench.",
    "arguments-in-command": "`command` has the arguments in it, which belong in `args`.",
    "package-not-found": "npm, uv or pip does not find the package, or not in that version.",
    "no-network": "The server, or the tool that downloads it, has no connection to the network.",
    "module-missing": "A Python or Node.js module that the server imports is not installed, or does not fit.",
    "file-missing": "A file or directory that the server needs does not exist.",
    "variable-missing": "The server needs an environment variable that it does not have.",
    "port-in-use": "Another program listens on the port that the server wants.",
    "permission-denied": "The program is not executable, or the server is not allowed to use a file.",
    "wrong-architecture": "The program was built for another processor or operating system.",
    "sandbox-unavailable": "The server has a `sandbox`, and this system cannot confine it.",
    "crashed": "A signal ended the server: it crashed, or the system killed it.",
    "exited-silently": "The server ended before it could be used, and wrote nothing to stderr.",
    "not-mcp": "The server writes text to stdout, and does not answer as an MCP server.",
    "http-on-stdio": "The program is an HTTP server: it says that it listens, and does not use stdin.",
    "silent": "The server did not answer in time.",
    "all-tools-hidden": "The server has tools, and `toolFilters` hides all of them.",
    "list-failed": "The server declares tools, and answers the request for their list with an error.",
    "tls-failed": "The certificate of a remote server is not trusted, or it does not speak TLS.",
    "dns-failed": "The name of a remote server cannot be resolved.",
    "unreachable": "No connection to a remote server can be made.",
    "unauthorized": "A remote server does not accept the configured credentials (HTTP 401).",
    "forbidden": "A remote server does not allow the access (HTTP 403).",
    "not-found": "There is no MCP server at the address (HTTP 404).",
    "method-not-allowed": "The address does not accept MCP requests (HTTP 405).",
    "websocket-url": "The address is one of a WebSocket (`wss://`), and MCP has no WebSocket transport.",
    "login-required": "A remote server requires a login.",
    "failed": "Any other cause: the message and the last lines of stderr say what is known.",
}


class StartFailure(msgspec.Struct, frozen=True):
    """Why a server did not start: the cause, a sentence that begins with it, and what to do about it."""

    cause: Cause
    reason: str
    hint: str = ""
