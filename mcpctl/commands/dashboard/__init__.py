"""The dashboard, which is a command by itself: its help is that of `dashboard.py`."""
