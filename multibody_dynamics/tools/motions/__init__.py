"""Motions in files: trajectories, their time scaling, and the integration of rigid bodies."""
