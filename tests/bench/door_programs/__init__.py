"""Programs that wait for people, one at each door. `doors.py` starts them."""
