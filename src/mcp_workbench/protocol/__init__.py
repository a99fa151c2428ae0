"""What both sides of the workbench know of MCP: names, versions, and how a client describes itself."""
