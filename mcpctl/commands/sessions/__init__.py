"""Sessions on record."""
