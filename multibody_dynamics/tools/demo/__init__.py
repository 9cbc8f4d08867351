"""The demos: prepare the nodes, run and record them, compare the recordings, write reports."""
