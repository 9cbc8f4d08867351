"""Filters of sampled signals, and the torques that were sent."""
