"""Shared by the commands: options, processes, recordings, figures and progress bars."""
