"""The records of many machines in one PostgreSQL: what ships journals there, and what reads them there."""
