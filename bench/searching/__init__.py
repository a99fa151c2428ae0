"""What the suite `search` is made of: sets of tools and queries, what ranks them, and what measures."""
