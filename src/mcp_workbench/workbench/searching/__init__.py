"""What a search is made of: words and what they stand for, queries, tools, and meaning."""
