"""The checks of a configuration file against its model: every mistake found, with the way to mend it."""
