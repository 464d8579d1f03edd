"""Settings: their sources, their names, and the errors for invalid values."""
