"""Laws of springs, from deflections and torques."""
