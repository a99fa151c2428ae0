"""The benchmark of the workbench: side by side with a bare relay and with peers, in ratios."""
