"""Recorded motions: compare their torques with the model, replay them, identify springs."""
