"""Robots simulated by other people's code, behind the interface of `dynamics.plants`."""
