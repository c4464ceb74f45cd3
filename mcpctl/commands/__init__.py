"""What a person can type: the path of a module is the name of its command."""
