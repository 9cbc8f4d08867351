"""Running nodes: several in one process, a live table of what they publish, and recording."""
