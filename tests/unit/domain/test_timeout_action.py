"""A timeout is never an answer, whatever it does, and a default applies only if the card has named it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from askback.domain.actions import Choose, Operation, Select, SubmitText
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Condition, Form, Option, Question
from askback.domain.identity import MessageRef, Place
from askback.domain.interview import start_interview
from askback.domain.outcome import Answer, Outcome
from askback.domain.reserved_options import build_no_answer_option
from askback.domain.schedule import NOT_POSTED, apply_due
from askback.domain.timeout_action import TimeoutAction, build_fallback
from askback.domain.who import Who
from askback.errors import CallerError
from support.cases import ANN, NOON, Story, ended, form, options, question

LATER = NOON + timedelta(hours=1)
WHERE = question("where", "Staging", "Production", default=("staging",))
PAIR = (WHERE, question("day", "Monday", "Friday", default=("friday",)))


def policy(action: TimeoutAction = "default", **more: Any) -> Policy:
    return Policy(**{"who": Who.from_people(ANN), "deadline": LATER, "on_timeout": action, **more})


def timed_out(asked: Form, *done: Operation, action: TimeoutAction = "default", posted: bool = True) -> Ask:
    """Return the ask after these actions and its deadline."""
    story = Story(*asked.questions)
    for operation in done:
        story.does(operation)
    ask = Ask(
        id="ask",
        place=Place(platform="local", channel="C1"),
        policy=policy(action),
        interview=story.now,
        created_at=NOON,
        post_after=NOON,
        messages=(MessageRef(channel="C1", id="1"),) if posted else (),
    )
    after, message = apply_due(ask, LATER)
    assert after is not None
    assert message is None
    return after


def outcome_of(ask: Ask) -> Outcome:
    assert ask.outcome is not None
    return ask.outcome


def labels(answers: tuple[Answer, ...]) -> dict[str, tuple[str, ...]]:
    return {one.question_id: one.labels for one in answers}


# The rules


@pytest.mark.parametrize("action", ["halt", "default"])
def test_an_action_is_stored_only_if_a_caller_chose_one(action: TimeoutAction):
    assert "on_timeout" not in policy("report").model_dump(mode="json")
    assert Policy.model_validate(policy(action).model_dump(mode="json")) == policy(action)
    assert not {"fallback", "halted"} & {*ended("timed_out").model_dump(mode="json")}


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (question("where", "Staging", "Production"), "“What about where?” has no default: give it one"),
        (question("version"), "offer its default as an option"),
        (
            question("checks", "A", "B", multi_select=True, min_choices=2, default=("a",)),
            "not enough (choose at least 2 options)",
        ),
    ],
)
def test_a_default_is_refused_for_a_question_without_one(asked: Question, problem: str):
    with pytest.raises(CallerError) as error:
        policy().check(form(asked))
    assert problem in str(error.value)
    policy("halt").check(form(asked))
    policy("report").check(form(asked))


def test_a_default_is_refused_without_a_deadline():
    with pytest.raises(CallerError, match="needs a deadline"):
        policy(deadline=None).check(form(WHERE))


def test_silence_is_never_consent_to_an_approval_or_a_vote():
    rules = policy(approval=Approval(refusing=("production",)))
    asked = form(WHERE.evolve(allow_custom=False))
    with pytest.raises(CallerError, match="silence is not consent"):
        rules.check(asked)
    rules.evolve(on_timeout="halt").check(asked)


def test_only_questions_that_the_defaults_call_for_need_one():
    day = Question(id="day", prompt="When?", show_if=Condition(question="where", any_of=("production",)))
    asked = form(WHERE, day)
    policy().check(asked)
    assert labels(build_fallback(asked)) == {"where": ("Staging",)}
    with pytest.raises(CallerError, match="“When\\?” has no default"):
        policy().check(form(WHERE.evolve(default=("production",)), day))


def test_an_optional_question_needs_no_default():
    note = Question(id="note", prompt="Anything else?", options=(build_no_answer_option(),))
    policy().check(form(WHERE, note))
    assert labels(build_fallback(form(WHERE, note))) == {"where": ("Staging",), "note": ("(no answer)",)}


def test_only_a_timeout_can_have_a_fallback_or_a_halt():
    fallback = build_fallback(form(WHERE))
    for more in ({"fallback": fallback}, {"halted": True}):
        assert ended("timed_out", **more)
        with pytest.raises(ValueError, match="only the status 'timed_out'"):
            ended("cancelled", **more)


# The deadline


def test_a_default_is_a_fallback_and_never_an_answer():
    outcome = outcome_of(timed_out(form(*PAIR)))
    assert (outcome.status, outcome.answers, outcome.halted) == ("timed_out", (), False)
    assert labels(outcome.fallback) == {"where": ("Staging",), "day": ("Friday",)}


def test_what_people_had_ticked_or_written_as_a_draft_is_not_used():
    several = question("checks", "A", "B", multi_select=True, default=("a",))
    assert labels(outcome_of(timed_out(form(several), Select(chosen=(1,)))).fallback) == {"checks": ("A",)}
    assert labels(outcome_of(timed_out(form(*PAIR), Choose(index=1))).fallback)["where"] == ("Staging",)
    written = outcome_of(timed_out(form(*PAIR), SubmitText(text="The moon")))
    assert labels(written.fallback)["where"] == ("Staging",)


def test_halt_is_a_timeout_that_stops_the_agent():
    outcome = outcome_of(timed_out(form(WHERE), action="halt"))
    assert (outcome.status, outcome.answers, outcome.fallback, outcome.halted) == ("timed_out", (), (), True)


def test_a_report_adds_nothing():
    assert outcome_of(timed_out(form(WHERE), action="report")) == Outcome(status="timed_out", at=LATER)


def test_a_default_that_no_card_announced_does_not_apply():
    outcome = outcome_of(timed_out(form(WHERE), posted=False))
    assert (outcome.status, outcome.fallback, outcome.reason) == ("timed_out", (), NOT_POSTED)
    assert outcome_of(timed_out(form(WHERE), posted=False, action="halt")).halted


# The card


def opened(asked: Form, action: TimeoutAction = "default", *done: Operation) -> Any:
    story = Story(*asked.questions)
    for operation in done:
        story.does(operation)
    ask = timed_out(asked, action=action).evolve(interview=story.now)
    return ask.to_card().timeout


def test_the_open_card_says_what_follows_in_a_few_words():
    assert opened(form(WHERE)).words == "then “Staging”"
    assert opened(form(WHERE), "halt").words == "then the work stops"
    assert opened(form(WHERE), "report") is None
    assert opened(form(WHERE)).defaults == ()


def test_without_a_deadline_there_is_nothing_to_announce():
    ask = timed_out(form(WHERE), action="halt")
    ask = ask.evolve(policy=policy("halt", deadline=None), interview=start_interview(form(WHERE)))
    assert ask.to_card().timeout is None


def test_a_long_or_several_defaults_are_shown_in_full_below():
    long = "x" * 200
    one = Question(
        id="q", prompt="Q?", options=(Option(value="long", label=long), *options("Short")), default=("long",)
    )
    assert (opened(form(one)).words, opened(form(one)).defaults) == ("then the default applies", (long,))
    several = question("checks", "A", "B", multi_select=True, default=("a", "b"))
    assert opened(form(several)).defaults == ("A", "B")


def test_a_form_shows_the_default_of_its_question_and_the_review_shows_all():
    asked = form(WHERE.evolve(header="Where"), PAIR[1])
    shown = opened(asked)
    assert (shown.words, shown.defaults) == ("then the defaults apply", ("Where: Staging",))
    review = opened(asked, "default", Choose(index=1), Choose(index=0))
    assert review.defaults == ("Where: Staging", "Q2: Friday"), "whatever people have chosen meanwhile"


def test_the_settled_card_says_that_the_default_applies_as_announced():
    card = timed_out(form(WHERE)).to_card()
    assert card.ending is not None
    assert card.ending.title == "Nobody answered in time"
    assert card.ending.consequence is not None
    assert card.ending.consequence.words == "“Staging” applies, as announced."
    assert (card.result, card.timeout) == (None, None), "it does not look like an answer"


def test_the_settled_card_of_a_form_lists_the_defaults_and_not_the_drafts():
    card = timed_out(form(*PAIR), Choose(index=1)).to_card()
    assert card.ending is not None
    assert card.ending.lists_defaults
    assert card.ending.has_unused_drafts
    assert [line.answer for line in card.lines] == [("Staging",), ("Friday",)]
    untouched = timed_out(form(*PAIR)).to_card().ending
    assert untouched is not None
    assert not untouched.has_unused_drafts


def test_a_fallback_starts_from_the_form_alone():
    assert build_fallback(form(WHERE)) == (start_interview(form(WHERE)).answer(0),)
