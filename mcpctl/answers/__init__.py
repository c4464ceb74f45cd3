"""What is told of an answer that is too big to be passed on, and how the rest of it is read."""
