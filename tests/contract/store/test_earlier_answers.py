"""A person's earlier answers to the same question are found on both databases, and nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Question
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.who import Who
from askback.runtime.backend import open_backend
from askback.store.database import Database
from askback.store.queries import asks
from askback.store.queries.earlier_answers import list_earlier_answers
from support.cases import ANN, BEN, NOON, Story, form, question
from support.stores import url_in

HERE = Place(platform="slack", tenant="T1", channel="C1", thread="1.0")
WHERE = question("where", "Staging", "Production")


@pytest.fixture
async def database(stored: str, tmp_path: Path) -> AsyncIterator[Database]:
    del stored
    async with open_backend(url_in(tmp_path) or str(tmp_path / "askback.db")) as opened:
        yield opened.database


class Asks:
    """Asks that people have answered, one after the other."""

    def __init__(self) -> None:
        self.stored: list[Ask] = []

    def add(
        self,
        choice: int,
        *,
        by: Actor = ANN,
        place: Place = HERE,
        asked: Question = WHERE,
        policy: Policy | None = None,
    ) -> Ask:
        at = NOON + timedelta(minutes=len(self.stored))
        story = Story(asked)
        story.does(Choose(index=choice), by=by)
        assert story.now.outcome is not None
        settled = story.now.evolve(outcome=story.now.outcome.evolve(at=at))
        self.stored.append(
            Ask(
                id=f"ask{len(self.stored)}",
                place=place,
                policy=policy or Policy(who=Who(anyone=True)),
                interview=settled,
                created_at=NOON,
                post_after=NOON,
            )
        )
        return self.stored[-1]

    def write(self, connection: Connection) -> None:
        for ask in self.stored:
            asks.insert(connection, ask.evolve(interview=start_interview(form(*ask.interview.form.questions))))
            before = asks.get(connection, ask.id)
            assert before is not None
            asks.save(connection, before, ask)


async def test_only_the_same_question_person_and_channel_count(database: Database) -> None:
    given = Asks()
    given.add(0)
    given.add(1, by=BEN)
    given.add(1, place=HERE.evolve(channel="C10", thread=None))
    given.add(1, place=HERE.evolve(channel="C", thread=None))
    given.add(1, place=HERE.evolve(tenant="T2"))
    given.add(1, asked=question("when", "Staging", "Production"))
    given.add(1, place=HERE.evolve(thread="2.0"), asked=WHERE.evolve(prompt=" what  about WHERE?"))
    newest = given.add(0, place=HERE.evolve(thread=None))

    def work(connection: Connection) -> list[str]:
        given.write(connection)
        assert list_earlier_answers(connection, given.stored[1], 9) is None, "Ben answered once"
        found = list_earlier_answers(connection, newest, 9)
        assert found is not None
        assert found.person == ANN
        first = list_earlier_answers(connection, newest, 1)
        assert first is not None
        assert first.outcomes == found.outcomes[:1]
        return [one.answers[0].labels[0] for one in found.outcomes]

    assert await database.run(work) == ["Production", "Staging"], "the newest first"


async def test_a_vote_of_several_people_is_nobodys_earlier_answer(database: Database) -> None:
    given = Asks()
    given.add(0)
    vote = Policy(who=Who(anyone=True), approval=Approval(refusing=("production",)))
    newest = given.add(0, policy=vote)

    def work(connection: Connection) -> None:
        given.write(connection)
        assert list_earlier_answers(connection, newest, 9) is None

    await database.run(work)
