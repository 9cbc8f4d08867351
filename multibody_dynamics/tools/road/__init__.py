"""The whole road from a data sheet to a proven model: validation, prediction and the report."""
