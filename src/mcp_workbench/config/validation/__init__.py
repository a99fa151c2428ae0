"""The checks of a configuration file against the model. Each mistake is reported with how to correct it."""
