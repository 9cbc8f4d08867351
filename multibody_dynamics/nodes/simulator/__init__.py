"""The simulated arm as a node: its plant, sensors, surroundings, commands and clock."""
