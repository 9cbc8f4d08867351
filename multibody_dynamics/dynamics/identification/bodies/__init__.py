"""Inertial parameters of the links and friction of the joints, from torques."""
