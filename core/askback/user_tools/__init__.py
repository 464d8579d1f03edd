"""Tools of whoever runs askback: plain typed functions by import path, and what becomes of what they return."""
