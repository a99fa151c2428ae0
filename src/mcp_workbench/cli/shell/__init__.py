"""The commands that list, search and call tools from the shell."""
