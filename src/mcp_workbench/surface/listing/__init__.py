"""The results of `open_toolbox`: which tools are asked for, how much detail fits, and how it is written."""
