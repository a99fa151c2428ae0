"""The parts of `mcp-workbench demo`: four small MCP servers, their configuration, and a client."""

__all__: list[str] = []
