"""Secret values of the configuration: which they are, and how they are masked in text."""
