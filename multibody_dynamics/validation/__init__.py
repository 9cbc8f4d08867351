"""Recorded motion against the model: reading recordings, comparing, identifying, reporting."""
