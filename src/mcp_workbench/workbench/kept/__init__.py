"""Results that are kept whole: whose they are, where they are, and what is in them."""
