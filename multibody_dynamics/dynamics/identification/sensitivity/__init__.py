"""Derivatives of the dynamics with respect to parameters."""
