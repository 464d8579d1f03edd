"""The actions and checks of a scenario on any platform: people at a desk, a real bot, a scripted model.

A scenario uses only `Desk`. A platform implements `Desk` once; `conftest.py` runs every scenario on every platform.
"""

from __future__ import annotations

from .asks import Asked as Asked
from .asks import asks as asks
from .asks import asks_of as asks_of
from .asks import form_of as form_of
from .asks import one as one
from .asks import option as option
from .asks import program_asks as program_asks
from .desk import Desk as Desk
from .desk import PlatformTests as PlatformTests
from .form_entries import Field as Field
from .form_entries import choose_label as choose_label
from .form_entries import fill as fill
from .journal import Journal as Journal
from .not_now import CANCEL as CANCEL
from .not_now import NOT_NOW as NOT_NOW
from .not_now import cancel as cancel
from .not_now import leave as leave
from .requests import Told as Told
from .requests import told as told
from .requests import turn_of as turn_of
from .values import ACK_MS as ACK_MS
from .values import ADA as ADA
from .values import BEN as BEN
from .values import COMMIT_SECONDS as COMMIT_SECONDS
from .values import CY as CY
from .values import DEPLOYS as DEPLOYS
from .values import GENERAL as GENERAL
from .values import GROUPS as GROUPS
from .values import PROXIES as PROXIES
from .values import RELEASE as RELEASE
from .values import TOOLS as TOOLS
from .values import WITHIN as WITHIN
from .values import Card as Card
from .values import Choice as Choice
from .values import Clicked as Clicked
from .values import Control as Control
from .values import Line as Line
from .values import Talk as Talk
from .values import TextField as TextField
from .values import What as What
from .values import checked as checked
from .values import group_of as group_of
from .values import is_label as is_label
from .values import person_of as person_of
from .waits import at_rest as at_rest
from .waits import card as card
from .waits import delivered as delivered
from .waits import gather as gather
from .waits import kept as kept
from .waits import line as line
from .waits import notice as notice
from .waits import pass_time as pass_time
from .waits import settled as settled
from .waits import transcript as transcript
from .waits import until as until
