"""Stability of the sampled closed loop, at one pose and over the joint range."""
