"""Tests of the bundled example servers."""
