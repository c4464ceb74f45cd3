"""Tokens that a policy may demand of clients."""
