"""The servers of config.toml as people see and edit them."""
