"""The room of the registry, and a registry of the tests' own."""
