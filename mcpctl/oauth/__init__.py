"""Logins to remote servers: their tokens, kept, refreshed and given to nobody but the server that they are for."""
