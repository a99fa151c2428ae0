"""Text about tools: made safe, shortened, measured in tokens, and turned into signatures."""
