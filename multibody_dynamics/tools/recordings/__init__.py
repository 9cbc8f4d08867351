"""Recorded motions: compared with the model, replayed, and used to identify the robot."""
