"""Completion for shells: the scripts, and the hidden command that answers them."""
