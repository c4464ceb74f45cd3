"""The official conformance suite, run on request: `python -m tests.conformance`"""
