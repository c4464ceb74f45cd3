"""The upstream servers in config.toml."""
