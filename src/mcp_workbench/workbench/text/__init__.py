"""Text about tools: cleaned, shortened, measured in tokens, and written as signatures."""
