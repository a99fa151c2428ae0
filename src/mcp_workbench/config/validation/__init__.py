"""The checks of a configuration file against its model: each mistake is reported, and how to correct it."""
