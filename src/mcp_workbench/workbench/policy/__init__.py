"""The policy: which calls are allowed, asked about or denied, by which rule, and how many at once."""
