"""Motions in files: trajectories, time scaling, exciting motions, integration of rigid bodies."""
