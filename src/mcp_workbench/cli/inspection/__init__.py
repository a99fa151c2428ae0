"""The commands that look at servers and their tools: check, index and tokens."""
