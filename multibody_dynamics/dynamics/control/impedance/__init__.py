"""Joints and tools that feel like springs and dampers, and the parts of these laws."""
