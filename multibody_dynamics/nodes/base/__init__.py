"""What every node is built from: lifecycle and executor, parameters, messages, diagnostics."""
