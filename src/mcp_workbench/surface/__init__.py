"""The MCP server that clients connect to: two meta-tools, for legacy and modern protocol versions."""
