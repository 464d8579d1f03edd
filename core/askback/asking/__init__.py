"""`askback ask`, and the same in Python: one question to people, from a script, and its outcome."""
