"""Journals (the truth about sessions and calls), their index, and state."""
