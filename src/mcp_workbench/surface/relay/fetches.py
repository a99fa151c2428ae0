"""Requests for a server's prompts, completions and resources. They fail with JSON-RPC errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mcp_workbench.errors import RemoteError
from mcp_workbench.protocol.names import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND
from mcp_workbench.surface.relay.relayed import RelayedRequest
from mcp_workbench.surface.relay.stamping import retry_after
from mcp_workbench.wire.message import encode
from mcp_workbench.workbench.text.sanitise import clean_text

if TYPE_CHECKING:
    from mcp_workbench.errors import CallError, WireError


class ServerFetch(RelayedRequest):
    """A client's request for a prompt or a completion. The arguments are all parameters but `_meta`."""

    def on_refusal(self, error: CallError) -> None:
        """Tell the client in a JSON-RPC error why the request was not sent."""
        data = retry_after(error)
        self.fail_with(RemoteError(INTERNAL_ERROR, clean_text(str(error)), encode(data) if data else None))

    def explain(self, error: WireError) -> None:
        """Tell the client the server's own error, or why the server gave no answer."""
        if isinstance(error, RemoteError):
            self.fail_with(self.toolbox_server.masked(error))
        else:
            self.on_refusal(self.toolbox_server.explain(None, error, self.session))

    def on_not_offered(self) -> None:
        """Tell the client that the server does not have the capability that the request needs."""
        self.fail_with(self.not_offered())

    def not_offered(self) -> RemoteError:
        """Return the error for a server without the capability that the request needs."""
        toolbox, server = self.toolbox_server.origin
        reason = f"Server '{server}' (toolbox '{toolbox}') does not offer {self.capability}"
        return RemoteError(INVALID_PARAMS, reason, None)

    def fail_with(self, error: RemoteError) -> None:
        """Answer the client's request with a JSON-RPC error."""
        self.requests.fail_with(self.request_id, error)


class ResourceRead(ServerFetch, kw_only=True):
    """A client's request to read a resource."""

    uri: str
    """The URI of the resource as the client wrote it, wrapped or not."""
    is_cacheable: ClassVar[bool] = True

    def on_not_offered(self) -> None:
        """Tell the client that the resource does not exist: the server has no resources."""
        self.fail_with(self.not_offered())

    def not_offered(self) -> RemoteError:
        """Return the error for a server without resources: the resource does not exist."""
        reason = super().not_offered().message
        return RemoteError(RESOURCE_NOT_FOUND, reason, encode({"uri": self.uri}))

    def fail_with(self, error: RemoteError) -> None:
        """Answer with a JSON-RPC error, whose code depends on the client's protocol version."""
        if error.code == RESOURCE_NOT_FOUND and self.caller.is_modern:
            error = RemoteError(INVALID_PARAMS, error.message, error.data)
        super().fail_with(error)
