"""From a file on disk to JSON data: reading, parsing, `${VAR}` expansion, and who else may write to it."""
