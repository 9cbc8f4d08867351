"""The robustness of the control laws, studied with simulated robots: the command `study`."""
