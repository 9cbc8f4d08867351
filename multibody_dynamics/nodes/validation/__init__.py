"""Comparing a running robot with its model: parameters and the recording."""
