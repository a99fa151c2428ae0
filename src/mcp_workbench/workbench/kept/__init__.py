"""Results that are kept whole: their owners, their storage, and the parts of their contents."""
