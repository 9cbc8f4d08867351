"""Filtering and differentiating recordings, and least squares with errors correlated in time."""
