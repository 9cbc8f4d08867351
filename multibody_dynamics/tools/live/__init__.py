"""Running nodes: several in one process, and a live table of what they publish."""
