"""Texts of models and people, made fit to be shown: literal, cut into messages, without secrets."""
