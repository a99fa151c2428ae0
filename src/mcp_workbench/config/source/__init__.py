"""Turns a file on disk into JSON data: reading, parsing, `${VAR}` expansion, checks of permissions."""
