"""A workbench to try: four small MCP servers, their configuration, and a client for `mcp-workbench demo`."""

__all__: list[str] = []
