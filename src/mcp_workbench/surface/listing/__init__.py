"""The answers of `open_toolbox`: what is asked for, how much detail fits, and how it is written."""
