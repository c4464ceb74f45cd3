"""The records for other systems."""
