"""Motions from which the parameters of a robot can be identified well."""
