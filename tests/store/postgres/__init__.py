"""Tests of the records in PostgreSQL."""
