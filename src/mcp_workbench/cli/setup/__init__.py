"""The commands that set up the workbench: import, install, undo, editing the configuration, and secrets.

Each command has a module with `run`, and a light module beside it with its options, because the options of
all commands are built for every help text.
"""
