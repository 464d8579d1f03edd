"""Prepares texts of models and people for display: makes them literal, splits them into messages, hides secrets."""
