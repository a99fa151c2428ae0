"""Trust in servers: what was approved of each, what has changed since, and what looks like an attack."""
