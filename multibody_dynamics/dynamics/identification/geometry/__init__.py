"""Errors in the placement of joints, and kinematic calibration."""
