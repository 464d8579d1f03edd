"""The operator's own tools: plain typed functions given by import path, and the conversion of their results."""
