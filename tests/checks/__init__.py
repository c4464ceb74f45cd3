"""Tests of the rules for suspicious definitions."""
