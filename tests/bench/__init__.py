"""Measurements, run on request: `python -m tests.bench.startup` and `python -m tests.bench.calls`"""
