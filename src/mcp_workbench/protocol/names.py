"""Names and numbers of MCP that both the client and the server side use, for all protocol versions."""

from __future__ import annotations

from typing import Final

from mcp_workbench import __version__

MODERN: Final = "2026-07-28"
MODERN_VERSIONS: Final = (MODERN,)

LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol versions that begin with `initialize`, newest first."""

BATCHING_VERSION: Final = "2025-03-26"
"""The only protocol version that allows several requests in an array."""

NAME: Final = "mcp-workbench"
IMPLEMENTATION: Final = b'{"name":"%b","version":"%b"}' % (NAME.encode(), __version__.encode())

RESERVED_META: Final = "io.modelcontextprotocol/"
"""Prefix of the `_meta` keys that are replaced on every hop."""
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META_PROGRESS: Final = "progressToken"

URI_SIGNS: Final = (b'uri"', b"\\u00")
"""JSON text with a member named `uri` contains one of these: the end of the key, or an escaped letter of it.
"""

TOOLS_CALL: Final = "tools/call"
COMPLETION: Final = "completion/complete"
ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"

WORKBENCH_LABEL: Final = "[workbench]"
"""How questions of the workbench begin. Those of servers begin with `[toolbox/server]`, which has a slash."""

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CALL_FAILED: Final = -32000
"""Error code of the workbench for programs: a call failed, which was not wrong in itself."""
RESOURCE_NOT_FOUND: Final = -32002
"""Error code of legacy versions for an unknown resource; modern servers use INVALID_PARAMS."""
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042
"""Error code of legacy versions: the user has to visit a URL first, and the request is to be sent again then.
"""
