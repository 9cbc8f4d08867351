"""Desired motions, slowed down, or corrected by learning from earlier runs."""
