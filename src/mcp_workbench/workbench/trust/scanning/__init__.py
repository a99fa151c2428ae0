"""The scanner: looks in definitions and instructions for attacks on the model, by rules that are data."""
