"""Joints with springs as torque sources: loops, gains, observers, and their evaluation."""
