"""The commands for logins to remote servers, and for the tokens of clients."""
