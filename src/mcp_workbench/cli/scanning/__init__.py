"""The command `scan`: findings of the scanner for people, as JSON and as SARIF."""
