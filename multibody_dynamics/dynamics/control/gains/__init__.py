"""Gains of linear feedback, designed for the arm at rest."""
