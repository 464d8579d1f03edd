"""The desk on Slack. `desk.py` opens it; each other module is one part of it."""

from __future__ import annotations

from .desk import SlackDesk as SlackDesk
from .desk import accepted as accepted
from .desk import allow as allow
from .desk import open_desk as open_desk
from .desk import readable as readable
