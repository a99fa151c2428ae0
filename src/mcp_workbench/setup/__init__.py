"""Setting up the workbench: importing servers of clients, editing the configuration, installing into clients.

Owns what these commands decide and write. It asks nobody and prints nothing: that is done in `cli.setup`.
"""
