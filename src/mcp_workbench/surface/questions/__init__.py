"""Questions that servers ask in the middle of a call, and how legacy and modern clients are asked them."""
