"""Scenes over HTTP have as much time as others."""

from tests.proxy.conftest import patient as patient
