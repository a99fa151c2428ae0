"""What the suite over HTTP has of its own: a raw client, the targets, and the two of them that are ours."""
