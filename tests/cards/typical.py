"""Ten typical cards: the stories of each kind of question."""

from __future__ import annotations

from askback.domain.actions import Choose, Next, Select, Submit, SubmitText
from askback.domain.approval import build_form
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.text_rules import TextRules

from .story import Story

LIBRARIES = (
    ("Day.js (Recommended)", "Small, has the interface of Moment, loads plugins for time zones."),
    ("date-fns", "Functions for native dates; only what is used ends up in the bundle."),
    ("Luxon", "Its own classes for dates and intervals, with time zones from Intl."),
    ("Temporal polyfill", "The coming standard; large until browsers have it built in."),
)
FEATURES = (
    ("Dark mode", "Follows the system, and can be switched."),
    ("Offline use", "Keeps the last hundred documents on the device."),
    ("Push messages", "Needs a certificate from each vendor."),
    ("Export to PDF", "Adds a renderer of 4 MB to the server."),
)
CITIES = (
    "Amsterdam", "Athens", "Barcelona", "Berlin", "Brussels", "Bucharest", "Budapest", "Copenhagen", "Dublin",
    "Frankfurt", "Geneva", "Hamburg", "Helsinki", "Istanbul", "Kyiv", "Lisbon", "London", "Madrid", "Milan", "Munich",
    "Oslo", "Paris", "Prague", "Riga", "Rome", "Sofia", "Stockholm", "Tallinn", "Vienna", "Warsaw",
)  # fmt: skip
PLANS = (
    "Migrate the table in one transaction tonight, with the site in read-only mode for about ten minutes",
    "Add the column now, copy the rows in the background for a week, then switch the code over",
    "Leave the table alone, and keep the new values in a table of their own that is joined on each read",
)
ARGUMENTS = {"version": "1.4.2", "where": "staging", "restart": True, "note": "Contains the new login page."}


def _list_options(*texts: str | tuple[str, str]) -> tuple[Option, ...]:
    pairs = [(text, None) if isinstance(text, str) else text for text in texts]
    return tuple(Option(value=label, label=label, description=description) for label, description in pairs)


def _ask(prompt: str, *options: str | tuple[str, str], header: str | None = None, several: bool = False,
         rules: TextRules | None = None) -> Question:  # fmt: skip
    return Question(
        id=prompt[:40],
        prompt=prompt,
        header=header,
        options=_list_options(*options),
        multi_select=several,
        rules=rules or TextRules(),
    )


def _single(question: Question) -> Form:
    return Form(questions=(question,))


_FORM = Form(
    questions=(
        _ask("Which library should we use for dates?", *LIBRARIES, header="Library"),
        _ask("Which features do you want to enable?", *FEATURES, header="Features", several=True),
        _ask("Where should it run first?", "Staging", "Production", header="Target"),
        _ask("What should the release notes say?", header="Notes"),
    )
)
_FILLED = (Choose(index=0), Select(chosen=(0, 2)), Next(), Choose(index=0), SubmitText(text="A new login page."))

TYPICAL = (
    Story("short options", _single(_ask("Where should I deploy?", "Staging", "Production", "Nowhere")),
          (), (Choose(index=1),)),
    Story("described options", _single(_ask("Which library should we use for dates?", *LIBRARIES, header="Library")),
          (), (Choose(index=0),)),
    Story("long options", _single(_ask("How should I migrate the table of orders?", *PLANS, header="Migration")),
          (), (Choose(index=1),)),
    Story("several options",
          _single(_ask("Which features do you want to enable?", *FEATURES, header="Features", several=True)),
          (Select(chosen=(0, 2)),), (Submit(),)),
    Story("thirty options", _single(_ask("Which city hosts the next meeting?", *CITIES)), (), (Choose(index=3),)),
    Story("a text", _single(_ask("What should the release notes say?")), (), (SubmitText(text="A new login page."),)),
    Story("a number", _single(_ask("How many servers?", "2", "4", rules=TextRules(kind="integer", minimum=1))),
          (), (SubmitText(text="6"),)),
    Story("a form", _FORM, _FILLED[:1], (*_FILLED[1:], Submit())),
    Story("its review", _FORM, _FILLED, (Submit(),)),
    Story("an approval", build_form("deploy", ARGUMENTS, template="Deploy {version} to {where}?"),
          (Choose(index=0),), (Choose(index=0),), Approval(quorum=2, refusing=("deny",), subject="deploy")),
    Story("a question of a program", _single(_ask("Where should I deploy?", "Staging", "Production", "Nowhere")),
          (), (Choose(index=1),), caller="nightly-deploys-of-the-shop"),
    Story("a vote of a program",
          _single(_ask("Deploy the shop with the new prices to production?", "Yes", "No").evolve(allow_custom=False)),
          (), (Choose(index=0),), Approval(refusing=("No",), approving=("Yes",)), is_requested=True,
          caller="nightly-deploys-of-the-shop"),
)  # fmt: skip
