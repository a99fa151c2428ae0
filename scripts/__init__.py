"""Scripts for those who work on the project; none of it is installed."""
