"""The catalogues have every sentence in every language, and their words fit where they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo

from askback.domain import card, card_labels, card_texts, not_now, outgoing_message
from askback.domain.choice_words import SOMETHING_ELSE
from askback.domain.file_field import CHOOSE_FILE, CHOOSE_FILES
from askback.domain.form import Form, Option, Question
from askback.domain.form_fields import ANSWER_ALL, ANSWER_SEVERAL, build_form_fields, find_field_questions
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.text_field import TextField, build_reason_field, build_text_field, build_vote_field
from askback.domain.text_rules import TextRules
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback.text.literal import count_utf16_units
from askback.translations.catalogue import (
    ENGLISH,
    LANGUAGES,
    N_,
    Language,
    _,
    find_language,
    get_language,
    ngettext,
    use_language,
)
from askback.translations.sentences import capitalize_first, group_digits
from askback_discord import form_modal as discord_form
from askback_discord import not_now_modal as discord_not_now
from askback_discord import option_search as discord_search
from askback_discord import text_modal as discord_text
from askback_discord.controls import SEARCH
from askback_sandbox.play.scene import EDITING, EXPANDING
from askback_slack import form_modal as slack_form
from askback_slack import limits as slack_limits
from askback_slack import not_now_modal as slack_not_now
from askback_slack import text_modal as slack_text
from translations.catalogues import build_template, get_path, read_catalogue

OTHERS = tuple(language for language in LANGUAGES if language != ENGLISH)
each_language = pytest.mark.parametrize("language", OTHERS)
MARKUP = re.compile(r"[*_`~|<>#@\\]")
BUTTONS = (
    SOMETHING_ELSE, card_texts.SOMETHING_ELSE_OR_NOTE, card_texts.ADD_NOTE, card_texts.WRITE_ANSWER,
    card_texts.EDIT_TEXT, CHOOSE_FILE, CHOOSE_FILES, card_labels.NOT_NOW, card_labels.ANSWER_REST,
    card_labels.UNDO_VOTE, card_labels.WITHDRAW, card_labels.EVERYTHING, card_labels.SHOW_QUESTION,
    card_labels.SHOW_QUESTIONS, *outgoing_message.OFFER_LABELS.values(),
    "Submit", "Back", "Next", "Review", "Remove text", "Previous part", "Next part", "Stop", "Try again", "Approve",
    "Deny", "Always in this conversation", ANSWER_ALL, ANSWER_SEVERAL, card_labels.REMIND_ME, SEARCH,
)  # fmt: skip
SHOWN_OF_BUTTON = 38
"""UTF-16 units of a button's label that Discord shows on a phone; see `askback_discord.controls.SHORT`."""
TITLES = ("Cancel this question", "Not now", "Your answer", "Your reason", "Question", "Questions", "Details")
MODAL_BUTTONS = ("Send", "Close", "Back to the options")


def iter_pairs(language: Language) -> Iterator[tuple[str, str]]:
    """Yield each sentence with its translation; a plural with each of its forms."""
    for message in read_catalogue(language):
        if not message.id:
            continue
        if isinstance(message.id, str):
            yield message.id, str(message.string)
        else:
            for form in message.string:
                yield message.id[1], form


def list_texts(catalogue: Catalog) -> list[tuple[str, str]]:
    """Return the sentences of a catalogue with their translations, sorted."""
    return sorted((str(tuple(one.id)), str(tuple(one.string))) for one in catalogue if one.id)


def list_fields(text: str) -> set[tuple[str, str | None]]:
    return {(name, style) for _words, name, style, _conversion in Formatter().parse(text) if name is not None}


@each_language
def test_each_language_has_every_sentence_and_no_other(language: Language) -> None:
    template = {message.id for message in build_template() if message.id}
    catalogue = read_catalogue(language)
    known = {message.id for message in catalogue if message.id}
    assert known == template, "Run: python -m tests.translations"
    assert all(translated for _sentence, translated in iter_pairs(language))
    assert not catalogue.obsolete
    assert not [message.id for message in catalogue if message.id and message.fuzzy]


@each_language
def test_the_programs_read_what_the_translators_wrote(language: Language) -> None:
    with get_path(language, ".mo").open("rb") as file:
        compiled = list_texts(read_mo(file))
    assert compiled == list_texts(read_catalogue(language)), "Run: python -m tests.translations"


@each_language
def test_a_translation_has_the_values_of_its_sentence_and_no_markup(language: Language) -> None:
    for sentence, translated in iter_pairs(language):
        # A language may leave out the number of a singular, as English does.
        wanted, got = list_fields(sentence), list_fields(translated)
        assert got == wanted or (got < wanted and ("count", "") in wanted), (sentence, translated)
        assert set(MARKUP.findall(translated)) <= set(MARKUP.findall(sentence)), (sentence, translated)
        assert translated == translated.strip() or sentence != sentence.strip(), (sentence, translated)
        assert "\n" not in translated


@each_language
def test_a_translation_of_a_separator_still_separates(language: Language) -> None:
    with use_language(language):
        assert _("Asked: ") != _("Asked: ").rstrip() or _("Asked: ")[-1] in ":："
        assert all(_(text)[-1] in " ：" for text in ("until ", "Answered by ", "Requested by ", "Not yet: "))


@each_language
def test_labels_and_titles_fit_in_every_language(language: Language) -> None:
    known = {sentence for sentence, _translated in iter_pairs(language)}
    with use_language(language):
        for label in BUTTONS:
            assert label in known, f"the catalogue lacks {label!r}"
            assert count_utf16_units(_(label)) <= SHOWN_OF_BUTTON, _(label)
        for title in TITLES:
            assert count_utf16_units(_(title)) <= slack_limits.VIEW_TITLE == 24, _(title)
        for label in MODAL_BUTTONS:
            assert count_utf16_units(_(label)) <= 24, _(label)
        for way in not_now.WAYS.values():
            # Slack's limit for an option and its description. Discord's are higher.
            assert all(count_utf16_units(_(text)) <= 75 for text in (way.label, way.description) if text)


def build_fields() -> Iterator[TextField]:
    """Yield each kind of text field, in the current language."""
    options = (Option(value="a", label="A" * 40), Option(value="b", label="B"))
    for rules in (TextRules(), TextRules(kind="email"), TextRules(min_length=3, max_length=900)):
        for several in (False, True):
            question = Question(id="q", prompt="Which?", options=options, multi_select=several, rules=rules)
            interview = start_interview(Form(questions=(question,)))
            yield build_text_field("A" * 22, interview)
            # A text that the field of Discord cannot hold.
            yield build_text_field("A" * 22, interview).evolve(value="x" * 5000)
            yield build_vote_field("A" * 22, interview, 0)
            yield build_text_field("A" * 22, interview).evolve(prompt="x" * 5000)


@each_language
def test_the_windows_of_both_platforms_fit_in_every_language(language: Language) -> None:
    """Building a window checks the limits of its platform."""
    who = Actor(platform="any", id="1")
    form = Form(questions=(Question(id="q", prompt="Which?", options=(Option(value="a", label="A"),)),))
    now = utc_now()
    ref = slack_text.FieldRef(ask_id="A" * 22, step=0, channel="C", message_ts="1.2")
    with use_language(language):
        ask = build_ask(form, to=Place(platform="any", channel="C"), policy=build_policy(Who.from_people(who), None))
        ways = [build_reason_field(ask, may_answer=may) for may in (True, False)]
        fields = [*build_fields()]
    for field in ways:
        assert field.language == language
        slack_not_now.build_view(field, ref, now)
        modal = str(discord_not_now.build_modal(field, now))
        assert _translate("The card shows it.", language) in modal
    for field in fields:
        slack_text.build_view(field, ref)
        discord_text.build_modal(field)


@each_language
def test_the_windows_of_forms_and_of_the_search_fit_in_every_language(language: Language) -> None:
    options = tuple(Option(value=f"v{number}", label=f"Label {number}") for number in range(30))
    number = TextRules(kind="integer", minimum=1, maximum=9)
    form = Form(
        questions=(
            Question(id="a", prompt="Which of the two?", options=options[:2]),
            Question(
                id="b", prompt="Which?", options=options[:3], multi_select=True, min_choices=2, allow_custom=False
            ),
            Question(id="c", prompt="How many?", rules=number),
        )
    )
    ref = slack_text.FieldRef(ask_id="A" * 22, step=0, channel="C", message_ts="1.2", is_form=True)
    with use_language(language):
        asked = find_field_questions(form)
        assert asked is not None
        fields = build_form_fields("A" * 22, start_interview(form), asked)
    assert _translate("Your answers", language) in str(slack_form.build_view(fields, ref))
    assert _translate("Your answers", language) in str(discord_form.build_modal(fields))
    long = start_interview(Form(questions=(Question(id="q", prompt="Which?", options=options),)))
    shown = card.build_card("A" * 22, long, build_policy(Who(anyone=True), None))
    with use_language(language):
        discord_search.build_modal(shown)
        for query in ("label", "nothing"):
            discord_search.build_result(shown, query)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_player_of_scenarios_knows_the_buttons_that_only_show_more(language: Language) -> None:
    with use_language(language):
        assert {_(label) for label in card_labels.EXPANDING} <= EXPANDING
        assert _(card_labels.EDIT) in EDITING


def _translate(text: str, language: Language) -> str:
    with use_language(language):
        return _(text)


def test_a_locale_is_one_of_the_languages_or_english() -> None:
    assert [find_language(locale) for locale in ("de", "de-AT", "zh-CN", "zh_CN", "zh", "es-419", "ja-JP")] == [
        "de", "de", "zh_CN", "zh_CN", "zh_CN", "es", "ja",
    ]  # fmt: skip
    assert [find_language(locale) for locale in ("en-GB", "pl", "zh-TW", "zh-Hant-HK", "xx")] == [ENGLISH] * 5
    assert find_language(None) is None
    assert find_language(" ") is None


def test_the_language_holds_inside_its_block_only() -> None:
    assert get_language() == ENGLISH
    with use_language("de"):
        assert _(card_labels.NOT_NOW) == "Nicht jetzt…"
        with use_language(None):
            assert _(card_labels.NOT_NOW) == N_("Not now…")
        assert ngettext("{count} question", "{count} questions", 1) == "{count} Frage"
        assert group_digits(1_234_567) == "1.234.567"
    assert ngettext("{count} question", "{count} questions", 2) == "{count} questions"
    assert group_digits(1234) == "1,234"
    assert capitalize_first("wähle Optionen") == "Wähle Optionen"


def test_what_nobody_translated_is_shown_in_english() -> None:
    with use_language("ja"):
        assert _("Nobody has translated this.") == "Nobody has translated this."
