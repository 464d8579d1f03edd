"""Typed messages as answers to a question, and their assignment if several are open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askback.domain.actions import Choose, Decline, Next, Operation, Select, Submit, SubmitText
from askback.domain.apply_action import apply_action
from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question, TextRules
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.interview import Interview, start_interview
from askback.domain.line_rules import LineRules
from askback.domain.outgoing_message import OfferChoice
from askback.domain.who import Who
from askback.errors import PersonError
from askback.inbound import answer_parser
from askback.inbound.text_answers import classify_text, decide_offer
from askback.store.queries.offers import StoredOffer
from askback.text.unseen import find_lookalikes, has_visible_text
from support.cases import ANN, BEN, NOON, Story, form, question

PLACE = Place(platform="local", channel="C1", thread="1")


def everybody(actor: Actor, place: Place) -> bool:
    """Access rules that admit everyone."""
    del actor, place
    return True


LABELS = ("Staging (Recommended)", "Production", "Both", "Neither of them, thanks")


def asking(*labels: str, **fields: object) -> Interview:
    return start_interview(form(question("it", *labels, **fields)))


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("staging", 0),
        ("Staging (Recommended)", 0),
        (" “Staging” ", 0),
        ("'production'.", 1),
        ("PRODUCTION!", 1),
        ("neither of  them, thanks", 3),
        ("1", 0),
        ("2.", 1),
        ("2)", 1),
        ("(2)", 1),
        ("#2", 1),
        ("option 3", 2),
        ("Option #3", 2),
        ("No. 3", 2),
        ("２", 1),
        ("ｂｏｔｈ", 2),
        ("2️⃣", 1),
        ("2. Production", 1),
        ("3 – both", 2),
    ],
)
def test_an_option_is_known_by_label_or_number_however_it_is_typed(text: str, index: int) -> None:
    assert answer_parser.parse_answer(asking(*LABELS), text) == (Choose(index=index),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        ".",
        "0",
        "5",
        "-1",
        "2.5",
        "1 2",
        "2. Staging",
        "productions",
        "yes",
        "to staging",
        "option",
        "1 or 2",
    ],
)
def test_anything_else_is_no_option(text: str) -> None:
    assert answer_parser.parse_answer(asking(*LABELS), text) == ()


@pytest.mark.parametrize(
    "text",
    ["Production?", "production ?!", "“Production?”", "Production？", "Production؟", "¿Production?", "Production\u037e",
     "2?", "(2)?", "option 2?", "2. Production?", "Production?, after six", "v1?"],
)  # fmt: skip
def test_a_text_that_asks_is_no_option(text: str) -> None:
    at = asking(*LABELS, allow_note=True)
    assert answer_parser.parse_answer(at, text) == ()
    assert answer_parser.parse_noted_choice(at, text) == ()


def test_a_label_that_asks_is_known_with_and_without_its_question_mark() -> None:
    at = asking("Deploy now?", "Wait")
    for text in ("deploy now", "Deploy now?", "deploy now？", "1. deploy now?"):
        assert answer_parser.parse_answer(at, text) == (Choose(index=0),)
    assert answer_parser.parse_answer(at, "wait?") == ()
    assert answer_parser.parse_answer(asking("Sure", "Sure?"), "sure?") == (Choose(index=1),)


@pytest.mark.parametrize("text", ["tests?, docs", "1, 2?", "tests & docs?", "1 2?"])
def test_several_options_with_a_question_are_none(text: str) -> None:
    assert answer_parser.parse_answer(asking("Tests", "Docs", multi_select=True), text) == ()


def test_a_postponement_and_a_submission_that_ask_are_none() -> None:
    assert answer_parser.parse_answer(asking("A", "B"), "not now?") == ()
    assert answer_parser.parse_answer(asking("A", "B"), "later?") == ()
    story = Story(question("a", "Yes", "No"), question("b", "Yes", "No"))
    story.does(Choose(index=0))
    story.does(Choose(index=0))
    assert answer_parser.parse_answer(story.now, "submit?") == ()
    assert answer_parser.parse_answer(story.now, "submit!") == (Submit(),)


def test_an_option_is_known_by_its_value_but_a_number_is_what_people_see() -> None:
    counted_from_0 = tuple(Option(value=str(number), label=label) for number, label in enumerate(("A", "B", "C")))
    at = start_interview(Form(questions=(Question(id="q", prompt="?", options=counted_from_0),)))
    assert answer_parser.parse_answer(at, "1") == (Choose(index=0),)
    assert answer_parser.parse_answer(at, "0") == ()
    named = start_interview(
        Form(questions=(Question(id="q", prompt="?", options=(Option(value="eu-west-1", label="Ireland"),)),))
    )
    assert answer_parser.parse_answer(named, "EU-west-1") == (Choose(index=0),)


def test_what_fits_two_options_is_no_answer() -> None:
    assert answer_parser.parse_answer(asking("Yes", "No", "yes!"), "YES") == ()
    assert answer_parser.parse_answer(asking("Yes", "No", "yes!"), "yes!") == (Choose(index=2),), (
        "exactly one of them, to the letter"
    )
    same = tuple(Option(value=f"v{number}", label="Yes") for number in range(2))
    assert (
        answer_parser.parse_answer(
            start_interview(Form(questions=(Question(id="q", prompt="?", options=same),))), "Yes"
        )
        == ()
    )


def test_labels_that_are_numbers_win_over_places() -> None:
    at = asking("2", "3", "1")
    assert answer_parser.parse_answer(at, "2") == (Choose(index=0),)
    assert answer_parser.parse_answer(at, "1.") == (Choose(index=2),)
    assert answer_parser.parse_answer(at, "option 2") == ()
    assert answer_parser.parse_answer(asking("10", "20"), "1") == ()


def test_a_number_that_another_label_holds_is_not_certain() -> None:
    at = asking("1 replica", "2 replicas", "3 replicas", "5 replicas", "8 replicas")
    assert answer_parser.parse_answer(at, "3") == (Choose(index=2),)
    assert answer_parser.parse_answer(at, "5") == ()


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("1, 3", (0, 2)),
        ("3,1", (0, 2)),
        ("1 and 3", (0, 2)),
        ("1 3", (0, 2)),
        ("1, 2, and 4", (0, 1, 3)),
        ("tests; docs", (0, 1)),
        ("Tests & Docs", (0, 1)),
        ("salt and pepper", (2,)),
        ("salt and pepper, 1", (0, 2)),
        ("one, two; tests", (0, 3)),
        ("tests\ndocs", (0, 1)),
        ("2", (1,)),
    ],
)
def test_several_options_are_taken_where_every_part_names_one(text: str, indexes: tuple[int, ...]) -> None:
    at = asking("Tests", "Docs", "Salt and pepper", "One, two", multi_select=True)
    assert answer_parser.parse_answer(at, text) == (Select(chosen=indexes), Submit())


@pytest.mark.parametrize("text", ["1, 9", "tests, and more", "1 or 2", "tests docs", ", ,", "all"])
def test_several_options_are_not_guessed(text: str) -> None:
    assert answer_parser.parse_answer(asking("Tests", "Docs", multi_select=True), text) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not now", None),
        ("Not now!", None),
        ("later", "later"),
        ("not now: on Monday", "on Monday"),
        ("Not now, I am\non a train", "I am\non a train"),
        ("not now because I sleep", "because I sleep"),
        ("not now – soon", "soon"),
    ],
)
def test_not_now_declines_with_what_is_said_beside_it(text: str, reason: str | None) -> None:
    assert answer_parser.parse_answer(asking("A", "B"), text) == (Decline(reason=reason),)


def test_not_now_is_an_option_where_there_is_one_and_never_too_long() -> None:
    assert answer_parser.parse_answer(asking("Now", "Not now", "Later"), "not now") == (Choose(index=1),)
    assert answer_parser.parse_answer(asking("Now", "Not now", "Later"), "later") == (Choose(index=2),)
    assert answer_parser.parse_answer(asking("A", "B"), "not now or never") == ()
    assert answer_parser.parse_answer(asking("A", "B"), "not now: " + "x" * 1001) == ()
    assert answer_parser.parse_answer(asking(), "later") == (), "where a text is asked for, it may be the answer"
    assert answer_parser.parse_answer(asking(), "not now") == (Decline(),)


def test_in_a_form_it_answers_the_question_before_people_and_in_the_review_it_submits() -> None:
    story = Story(question("a", "Yes", "No"), question("b", "One", "Two", multi_select=True))
    assert answer_parser.parse_answer(story.now, "two") == ()
    (choose,) = answer_parser.parse_answer(story.now, "yes")
    story.does(choose)
    select, onward = answer_parser.parse_answer(story.now, "one, two")
    assert isinstance(onward, Next)
    story.does(select)
    story.does(onward)
    assert answer_parser.parse_answer(story.now, "yes") == ()
    assert answer_parser.parse_answer(story.now, "Submit.") == (Submit(),)
    story.does(Submit())
    assert story.answers == {"a": ("Yes",), "b": ("One", "Two")}
    assert answer_parser.parse_answer(story.now, "yes") == ()


# Properties

TEXTS = st.text(min_size=1, max_size=30).filter(has_visible_text)
DECORATIONS = st.sampled_from(["{}", " {} ", "“{}”", "{}.", "{} !", '"{}",', "\t{}\n"])


@st.composite
def interviews(pick: st.DrawFn) -> Interview:
    labels = pick(
        st.lists(TEXTS | st.sampled_from(["1", "2", "yes", "Yes!", "not now"]), max_size=6).filter(
            lambda labels: find_lookalikes(labels) is None
        )
    )
    offered = tuple(Option(value=f"v{number}", label=label) for number, label in enumerate(labels))
    several = pick(st.booleans())
    one = Question(id="q", prompt="?", options=offered, multi_select=several, rules=pick(RULES))
    rest = (Question(id="r", prompt="?"),) if pick(st.booleans()) else ()
    return start_interview(Form(questions=(one, *rest)))


def test_a_message_with_a_number_on_each_line_is_a_list_of_numbers() -> None:
    ports = asking(rules=TextRules(kind="integer", lines=LineRules(min=2)))
    assert answer_parser.parse_answer(ports, "80\n443") == (SubmitText(text="80\n443"),)
    assert answer_parser.parse_answer(ports, "80") == (), "it is too short a list"
    assert answer_parser.parse_answer(ports, "80\nand the usual one") == ()


RULES = st.sampled_from([TextRules(), TextRules(pattern=r"\d+"), TextRules(max_length=5)])


@settings(deadline=None)
@given(interviews(), TEXTS)
def test_whatever_is_typed_what_it_means_can_be_done(at: Interview, text: str) -> None:
    for operation in answer_parser.parse_answer(at, text):
        at = _done(at, operation)


@settings(deadline=None)
@given(interviews(), st.data(), DECORATIONS)
def test_a_label_that_nothing_else_is_like_is_always_known(at: Interview, data: st.DataObject, around: str) -> None:
    labels = [option.label for option in at.question.options]
    known = [
        index
        for index, label in enumerate(labels)
        if [answer_parser._strip_extras(one) for one in labels].count(answer_parser._strip_extras(label)) == 1
    ]
    if not known:
        return
    index = data.draw(st.sampled_from(known))
    assert _chosen(answer_parser.parse_answer(at, labels[index])) == (index,)
    text = around.format(labels[index])
    if answer_parser._strip_extras(text) == answer_parser._strip_extras(labels[index]):
        assert _chosen(answer_parser.parse_answer(at, text)) == (index,)


@settings(deadline=None)
@given(interviews(), TEXTS)
def test_a_written_answer_ends_a_single_question_or_says_why_not(at: Interview, text: str) -> None:
    operations = answer_parser.parse_written_answer(at, text)
    assert isinstance(operations[0], SubmitText)
    problem = at.question.rules.find_problem(text)
    for operation in operations if problem is None else ():
        at = _done(at, operation)
    if problem is None and at.form.is_single:
        assert at.outcome is not None
        assert at.outcome.answers[0].text == text.strip()


def test_a_very_long_text_is_looked_at_quickly() -> None:
    at = asking(*(f"Choice {chr(0x4E00 + number)} {'of many ' * 20}" for number in range(1000)), multi_select=True)
    assert answer_parser.parse_answer(at, "1, " * 6000 + "2")
    assert answer_parser.parse_answer(at, "((" * 9000) == ()
    assert answer_parser.parse_answer(at, "1" * 50_000) == ()


# Several open questions


def open_ask(at: Interview, *, seen: bool = True, conversation: str | None = "c") -> Ask:
    return Ask(
        id=create_ask_id(),
        place=PLACE,
        policy=Policy(who=Who.from_people(ANN)),
        interview=at,
        created_at=NOON,
        post_after=NOON,
        conversation_id=conversation,
        messages=(MessageRef(channel="C1", id="2"),) if seen else (),
        drawn_revision=at.revision if seen else -1,
    )


def heard(text: str, author: object = ANN) -> IncomingMessage:
    return IncomingMessage.parse({"place": PLACE, "author": author, "text": text, "dedupe_key": "k", "at": NOON})


def test_exactly_one_question_must_be_answered_by_it() -> None:
    fruit, drink = open_ask(asking("Apple", "Other")), open_ask(asking("Tea", "Other"))
    (done,) = classify_text(heard("tea"), (fruit, drink), "offer", everybody).steps
    assert done.after.id == drink.id
    assert done.after.status == "answered"
    doubt = classify_text(heard("other"), (fruit, drink), "answer", everybody)
    assert not doubt.steps
    assert doubt.outgoing is not None
    assert doubt.outgoing.offer is not None
    assert doubt.outgoing.offer.ask_id == fruit.id


def test_who_may_not_answer_and_what_cannot_be_used_is_a_message() -> None:
    single = open_ask(asking("Apple", "Pear", allow_custom=False))
    assert classify_text(heard("pear", BEN), (single,), "answer", everybody) == classify_text(
        heard("x"), (), "answer", everybody
    )
    assert classify_text(heard("mango"), (single,), "offer", everybody).outgoing is None
    told = classify_text(heard("mango"), (single,), "answer", everybody).outgoing
    assert told is not None
    assert "this question takes no written answer" in told.text
    assert told.only_for == ANN
    assert told.offer is None


def test_beside_a_programs_question_people_go_on_talking() -> None:
    asked = open_ask(asking("Apple", "Pear"), conversation=None)
    assert classify_text(heard("pear"), (asked,), "answer", everybody).steps
    for mode in ("offer", "answer"):
        assert classify_text(heard("how are you?"), (asked,), mode, everybody) == classify_text(
            heard("x"), (), "offer", everybody
        )  # type: ignore[arg-type]


def test_what_nobody_has_seen_is_not_answered_by_any_text() -> None:
    unseen = open_ask(asking("Apple", "Pear"), seen=False)
    assert not classify_text(heard("mango"), (unseen,), "answer", everybody).steps
    assert not classify_text(
        heard("pear"), (unseen.evolve(post_after=NOON.replace(year=2999)),), "offer", everybody
    ).steps


def test_while_a_card_moves_on_what_could_be_meant_for_the_question_before_is_asked_about() -> None:
    story = Story(question("a", "Yes", "No"), question("b", "Yes", "Perhaps"))
    story.does(Choose(index=0))
    moving = open_ask(story.now).evolve(drawn_revision=story.now.revision - 1)
    assert classify_text(heard("perhaps"), (moving,), "offer", everybody).steps
    for mode in ("offer", "answer"):
        doubt = classify_text(heard("yes"), (moving,), mode, everybody)  # type: ignore[arg-type]
        assert not doubt.steps
        assert doubt.outgoing is not None
    drawn = moving.evolve(drawn_revision=story.now.revision)
    assert classify_text(heard("yes"), (drawn,), "offer", everybody).steps


@pytest.mark.parametrize(
    ("changes", "choice", "kind", "notice"),
    [
        ({}, "use", "answer", None),
        ({}, "keep", "message", None),
        ({"author": BEN}, "use", None, "Only Ben"),
        ({"state": "answer"}, "use", "message", None),
        ({"state": "message"}, "use", "message", "moved on"),
        ({"turn": 7}, "use", "message", "moved on"),
        ({"taken": True}, "use", "message", "already read that as a message"),
        ({"taken": True, "conversation_id": "another"}, "use", "answer", None),
        ({"text": "x" * 1001}, "use", "message", "Please shorten it"),
        ({}, "discuss", "answer", None),
        ({"text": "x" * 1001}, "discuss", "message", "Please shorten it"),
        ({"taken": True}, "discuss", "message", "already read that as a message"),
    ],
)
def test_a_choice_on_an_offer_counts_once_and_while_it_can(
    changes: dict[str, object], choice: OfferChoice, kind: str | None, notice: str | None
) -> None:
    ask = open_ask(asking("Apple", "Pear"))
    offered = StoredOffer(
        id="o", ask_id=ask.id, conversation_id="c", inbox_id=1, turn=0, state="open", author=ANN, text="mango",
        taken=False, message=None,
    ).evolve(**changes)  # fmt: skip
    said, became, steps = decide_offer(offered, ask, ANN, everybody, choice)
    assert (became, bool(steps)) == (kind, kind == "answer")
    assert (notice is None) == (said.notice is None)
    assert notice is None or notice in (said.notice or "")
    assert said.over == ("author" not in changes)


def test_an_offer_of_nothing_or_of_what_is_over_says_so() -> None:
    assert not decide_offer(None, None, ANN, everybody, "use")[0].known


def _done(at: Interview, operation: Operation) -> Interview:
    try:
        return apply_action(at, Story(question("x")).action(operation, step=at.step))
    except PersonError as error:
        raise AssertionError(f"{operation} is not possible: {error}") from error


def _chosen(operations: tuple[Operation, ...]) -> tuple[int, ...]:
    match operations:
        case (Choose(index=index),):
            return (index,)
        case (Select(chosen=chosen), _):
            return chosen
        case _:
            return ()
