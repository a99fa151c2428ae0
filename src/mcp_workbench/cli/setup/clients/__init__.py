"""The commands that change the files of MCP clients: install, uninstall and undo."""
