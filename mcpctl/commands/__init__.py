"""The commands: the path of a module is the name of its command."""
