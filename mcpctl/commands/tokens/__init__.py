"""Tokens, without which a policy may let nothing be found or called."""
