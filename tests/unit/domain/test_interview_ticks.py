"""Ticking several options, by several people at once."""

from __future__ import annotations

import pytest

from askback.domain.actions import Choose, ClearText, Next, Select, Submit, SubmitText
from askback.domain.apply_action import Incomplete, NotPossible
from support.cases import ANN, BEN, Story
from unit.domain.interview_questions import EXTRAS, NAME


def test_several_choices_are_ticked_and_then_submitted():
    story = Story(EXTRAS)
    assert story.card.several
    assert story.card.can_submit
    story.does(Select(chosen=(0,), base=(), revision=0))
    story.does(Select(chosen=(0, 2), base=(0,), revision=1))
    assert story.now.phase == "asking"
    story.does(Submit())
    assert story.answers == {"extras": ("Salt", "Garlic")}


def test_an_order_of_ticking_does_not_matter_the_answer_has_the_order_of_the_options():
    story = Story(EXTRAS)
    story.does(Select(chosen=(2, 1, 1, 2), base=()))
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper", "Garlic")}


def test_submitting_nothing_is_refused_and_says_what_to_do():
    story = Story(EXTRAS)
    with pytest.raises(Incomplete, match="at least one option, or write an answer"):
        story.does(Submit())
    story.does(Select(chosen=(1,), base=()))
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper",)}


def test_a_text_stands_beside_the_choices():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=()))
    story.does(SubmitText(text=" Basil "))
    assert story.now.phase == "asking"
    assert story.card.written == "Basil"
    assert [item.chosen for item in story.card.items] == [True, False, False]
    story.does(Select(chosen=(0, 1), base=(0,)))
    story.does(Submit())
    assert story.answers == {"extras": ("Salt", "Pepper", "Basil")}


def test_a_text_alone_is_an_answer_to_a_multiple_choice():
    story = Story(EXTRAS)
    story.does(SubmitText(text="Basil"))
    story.does(Submit())
    assert story.answers == {"extras": ("Basil",)}
    assert story.now.outcome is not None
    assert story.now.outcome["extras"].is_custom


def test_a_written_text_can_be_taken_back():
    story = Story(EXTRAS)
    story.does(Select(chosen=(1,), base=()))
    story.does(SubmitText(text="Basil"))
    story.does(ClearText())
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper",)}


def test_an_invalid_text_leaves_the_choices_and_the_text_before_it_alone():
    story = Story(EXTRAS)
    story.does(Select(chosen=(1,), base=()))
    story.does(SubmitText(text="Basil"))
    story.does(SubmitText(text="  "))
    assert (story.now.draft.chosen, story.now.draft.text, story.now.draft.unsent) == ((1,), "Basil", "  ")
    story.does(Submit())
    assert story.answers == {"extras": ("Pepper", "Basil")}


def test_what_is_ticked_when_a_button_is_pressed_counts():
    story = Story(EXTRAS)
    story.does(Submit(), ticks=Select(chosen=(0, 1), base=(), revision=0))
    assert story.answers == {"extras": ("Salt", "Pepper")}


def test_one_of_several_cannot_be_chosen_by_a_single_choice():
    story = Story(EXTRAS)
    with pytest.raises(NotPossible):
        story.does(Choose(index=0))


@pytest.mark.parametrize("ticks", [Select(chosen=(3,)), Select(chosen=(-1,)), Select(chosen=(), base=(7,))])
def test_an_option_that_is_not_there_cannot_be_ticked(ticks: Select):
    story = Story(EXTRAS)
    before = story.now
    for operation in (ticks, Submit()):
        with pytest.raises(NotPossible, match="no such option"):
            story.does(operation, ticks=ticks)
    assert story.now == before


# Ticks of several people


def test_ticks_of_two_people_who_look_at_the_same_card_both_count():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0), by=ANN)
    story.does(Select(chosen=(2,), base=(), revision=0), by=BEN)
    assert story.now.draft.chosen == (0, 2)


def test_somebody_unticks_what_they_saw_ticked_and_nothing_else():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), revision=0), by=ANN)
    story.does(Select(chosen=(0, 1, 2), base=(0, 1), revision=1), by=ANN)
    story.does(Select(chosen=(1,), base=(0, 1), revision=1), by=BEN)
    assert story.now.draft.chosen == (1, 2)


def test_quick_clicks_before_the_card_is_drawn_anew_all_count():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=2.0))
    story.does(Select(chosen=(1,), base=(), revision=0, order=3.0))
    assert story.now.draft.chosen == (1,)


def test_a_click_that_is_overtaken_by_a_later_one_of_the_same_person_changes_nothing():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=2.0))
    before = story.now
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    assert story.now == before
    assert story.now.draft.chosen == (0, 1)


def test_without_a_revision_an_older_click_of_the_same_person_changes_nothing():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0, 1), base=(), order=2.0))
    before = story.now
    for order in (1.0, 2.0):
        story.does(Select(chosen=(0,), base=(0, 1), order=order))
        assert story.now == before


def test_of_two_clicks_at_one_moment_neither_is_lost():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0, order=1.0))
    story.does(Select(chosen=(0, 1), base=(), revision=0, order=1.0))
    assert story.now.draft.chosen == (0, 1)


def test_a_click_that_is_delivered_twice_changes_nothing_the_second_time():
    story = Story(EXTRAS)
    first = Select(chosen=(0,), base=(), revision=0, order=1.0)
    story.does(first, by=ANN)
    story.does(Select(chosen=(2,), base=(), revision=0, order=2.0), by=BEN)
    before = story.now
    assert story.does(first, by=ANN) == before
    story.does(Select(chosen=(2,), base=(0, 2), revision=2, order=3.0), by=ANN)
    before = story.now
    assert story.does(first, by=ANN) == before
    assert story.now.draft.chosen == (2,)


def test_without_the_drawing_the_time_tells_what_came_already():
    story = Story(EXTRAS)
    first = Select(chosen=(0,), base=(), order=1.0)
    story.does(first)
    story.does(Select(chosen=(), base=(0,), order=2.0))
    before = story.now
    assert story.does(first) == before
    assert story.now.draft.chosen == ()


def test_without_the_drawing_a_click_that_comes_twice_does_not_undo_what_another_person_did_meanwhile():
    story = Story(EXTRAS)
    ticked = Select(chosen=(0,), base=(), order=1.0)
    story.does(ticked, by=ANN)
    story.does(Select(chosen=(), base=(0,), order=2.0), by=BEN)
    before = story.now
    assert story.does(ticked, by=ANN) == before
    assert story.now.draft.chosen == ()


def test_without_the_drawing_a_click_that_arrives_after_a_later_one_of_somebody_else_counts():
    story = Story(EXTRAS)
    story.does(Select(chosen=(2,), base=(), order=2.0), by=BEN)
    story.does(Select(chosen=(0,), base=(), order=1.0), by=ANN)
    assert story.now.draft.chosen == (0, 2)


def test_a_tick_that_is_there_already_is_nothing_to_draw():
    story = Story(EXTRAS)
    story.does(Select(chosen=(0,), base=(), revision=0), by=ANN)
    revision = story.now.revision
    story.does(Select(chosen=(0,), base=(), revision=0), by=BEN)
    assert (story.now.draft.chosen, story.now.revision) == ((0,), revision)
    story.does(Select(chosen=(), base=(), revision=0), by=BEN)
    assert (story.now.draft.chosen, story.now.revision) == ((), revision + 1)


def test_a_long_day_of_ticking_does_not_fill_the_store():
    story = Story(EXTRAS)
    for _ in range(200):
        shown = story.now.draft.chosen
        chosen = () if shown else (0,)
        story.does(Select(chosen=chosen, base=shown, revision=story.now.revision))
    assert len(story.now.draft.marks) == 50
    assert story.now.draft.chosen == ()


def test_what_screens_showed_is_forgotten_with_the_step_and_what_was_ticked_is_not():
    story = Story(EXTRAS, NAME)
    story.does(Select(chosen=(0,), base=(), revision=0))
    assert story.now.draft.marks
    story.does(Next())
    assert (story.now.drafts[0].marks, story.now.drafts[0].chosen) == ((), (0,))
