"""The desk on Discord. `desk.py` opens it; each other module is one part of it."""

from __future__ import annotations

from .desk import OPENAPI as OPENAPI
from .desk import DiscordDesk as DiscordDesk
from .desk import accepted as accepted
from .desk import allow as allow
from .desk import archived as archived
from .desk import audit as audit
from .desk import open_desk as open_desk
from .desk import readable as readable
