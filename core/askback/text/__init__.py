"""Prepares texts of models and people for display: literal, cut into messages, without secrets."""
