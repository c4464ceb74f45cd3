"""What is kept: journals (the truth about sessions and calls), their index, and state."""
