"""MCP Workbench: one MCP server in front of all your MCP servers."""

__version__ = "0.1.0"

__all__ = ["__version__"]
