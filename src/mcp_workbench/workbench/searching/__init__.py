"""The search for tools: words and their stems, queries, the index, and ranking by meaning."""
