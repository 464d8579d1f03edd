"""Settings: their sources and names, and the errors for wrong ones."""
