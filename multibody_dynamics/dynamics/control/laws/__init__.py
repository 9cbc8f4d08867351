"""Control laws by name, and the complete control cycles that the nodes run."""
