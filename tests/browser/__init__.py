"""The dashboard as a person sees it: in Chromium, driven over its own protocol."""
