"""What both sides of the workbench share about MCP: names, versions, headers, capabilities of clients."""
