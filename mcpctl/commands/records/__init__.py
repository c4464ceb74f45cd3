"""The records for other systems: traces, and one database of many machines."""
