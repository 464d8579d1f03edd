"""What the tests of the core begin with: people who see what is posted, and a model that says what it is to."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from askback_local.model.hearing import refusals
from askback_local.model.model import Model
from askback_local.services import Services
from core_approvals import Deploying
from core_engine import Board


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    async with Services(port=0, model=Model()) as services:
        yield services
        # The local API refuses, as the real one does, a history in which a call has no result, or two.
        refused = refusals([exchange.json() for exchange in services.model.log])
        assert not refused, refused


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Lets go, at the end of the test, of every thread that a tool keeps."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def deploying() -> Deploying:
    return Deploying()
