"""The ground that every room stands on."""
