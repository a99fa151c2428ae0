"""What real servers cost a model in tokens: which servers, and how they are installed and counted."""
