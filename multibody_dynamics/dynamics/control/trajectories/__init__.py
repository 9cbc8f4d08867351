"""Desired motions made slower, or corrected by what earlier runs have taught."""
