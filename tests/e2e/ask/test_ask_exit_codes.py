"""The exit code tells a script if people said yes, no, something else, or nothing."""

from __future__ import annotations

import pytest

from .office import Office


async def test_a_no_ends_with_3(office: Office) -> None:
    asked = await office.ask()
    await office.click("ada", "No")
    outcome = await asked.outcome(3)
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("refused", False, "No")
    assert "askback: Refused by " in asked.err


@pytest.mark.parametrize(
    ("options", "clicked", "code"),
    [
        (("Ja", "Nein"), "Nein", 3),
        (("Ja", "Nein"), "Ja", 0),
        (("同意", "拒绝"), "拒绝", 3),
        (("Yes, deploy", "No, hold"), "No, hold", 3),
        (("Deploy", "Cancel"), "Cancel", 3),
        (("No", "Not yet"), "Not yet", 6),
    ],
)
async def test_a_no_in_any_language_and_a_delay_open_no_gate(
    office: Office, options: tuple[str, ...], clicked: str, code: int
) -> None:
    given = [part for option in options for part in ("--option", option)]
    to = f"{office.platform}:#deploys"
    asked = await office.start("ask", "Deploy 1.4.2?", "--to", to, *given, "--approvers", "@ada")
    await office.click("ada", clicked)
    assert (await asked.outcome(code))["approved"] is (code == 0)
    assert ("no answer exits with 0. Name those that approve with --yes." in asked.err) == (code == 6)


@pytest.mark.parametrize(
    ("approvers", "more", "warned"),
    [("@ada", (), True), ("anyone", ("--quorum", "2"), True), ("anyone", (), False)],
)
async def test_whoever_names_approvers_but_no_yes_and_no_no_is_warned_before_the_wait(
    office: Office, approvers: str, more: tuple[str, ...], warned: bool
) -> None:
    options = ("--option", "Blue", "--option", "Green")
    to = f"{office.platform}:#deploys"
    asked = await office.start("ask", "Which one?", "--to", to, *options, "--approvers", approvers, *more)
    await asked.said("Posted the question")
    told = (
        "askback: No option is a “yes” or a “no”, so Blue and Green all exit with 0. Name those that approve with "
        "--yes, and those that refuse with --no."
    )
    assert (told in asked.err) == warned, asked.err


async def test_what_is_neither_a_yes_nor_a_no_is_an_answer_that_approves_nothing_and_ends_with_6(
    office: Office,
) -> None:
    asked = await office.ask("--option", "Later")
    await office.click("ada", "Later")
    outcome = await asked.outcome(6)
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("answered", False, "Later")
    shown = await office.settled("Deploy 1.4.2?", "Decided: “Later”")
    assert "Approved" not in shown
    assert "askback: Answered by " in asked.err


@pytest.mark.parametrize("no", [(), ("--option", "No")], ids=["alone", "beside a no"])
async def test_where_no_option_is_a_yes_every_answer_ends_with_0_and_approves_nothing(
    office: Office, no: tuple[str, ...]
) -> None:
    options = ("--option", "Staging", "--option", "Production", *no)
    to = f"{office.platform}:#deploys"
    asked = await office.start("ask", "Where to?", "--to", to, *options, "--approvers", "anyone")
    await office.click("ada", "Staging", "Where to?")
    outcome = await asked.outcome()
    assert (outcome["status"], outcome["approved"], outcome["answer"]) == ("answered", None, "Staging")
    told = (
        "askback: No option is a “yes”, so Staging and Production all exit with 0. Name those that approve with --yes"
    )
    assert (told in asked.err) == bool(no)


async def test_when_nobody_answers_it_ends_with_4(office: Office) -> None:
    asked = await office.ask("--wait", "1s")
    assert (await asked.outcome(4))["status"] == "timed_out"


async def test_what_cannot_be_delivered_ends_with_5(office: Office) -> None:
    office.refuse_posts()
    asked = await office.ask()
    outcome = await asked.outcome(5)
    assert outcome["status"] == "undeliverable"
    assert outcome["reason"]


@pytest.mark.parametrize(
    ("to", "approvers", "more", "words"),
    [
        (
            "#deploys",
            "anyone",
            ("--allow-custom",),
            "--allow-custom is not possible where an option is a “yes” or a “no”",
        ),
        ("#deploy", "anyone", (), "The bot sees no channel '#deploy'. Did you mean #deploys?"),
        ("#deploys", "@relase", (), "Did you mean @release?"),
        ("#deploys", "@adda", (), "Did you mean @ada?"),
        ("@bem", "anyone", (), "Did you mean @ben?"),
        ("#deploys", "@release", ("--quorum", "2"), "2 people have to agree, but only 1 person is in @release"),
        (
            "@ada",
            "@ben",
            (),
            "the people who decide cannot see this direct message. Use --to to ask in a channel that they can see",
        ),
        ("@ben", "@release", (), " direct message"),
        ("@ada", "anyone", ("--quorum", "2"), "2 people decide together, and only one sees this direct message"),
        ("#deploys", "@ada", ("--quorum", "2"), "but only 1 person is in @ada"),
        ("#deploys", "@release", ("--requested-by", "@ada"), ""),
        ("#deploys", "@ada", ("--requested-by", "@ada"), "but nobody is in @ada (requesters do not count)"),
        ("#deploys", "{platform}:@ada", ("--quorum", "2"), "but only 1 person is in @ada"),
        ("#deploys", "anyone", ("--no", "Maybe"), "there is no such option. The options are Yes, No."),
        ("#deploys", "anyone", ("--wait", "soon"), "--wait soon is not a duration"),
        ("#deploys", "anyone", ("--escalate", "@leads"), "such as --escalate 1h=@leads"),
        ("#deploys", "anyone", ("--option", "Yes"), "is given more than once"),
        ("#deploys", "anyone", ("--option", "\u200b"), "An option is empty: write its text, or leave it out."),
        ("#deploys", "anyone", ("--option", "N\u200bo"), "The options “No” and “N\\u200bo” look alike: change one"),
    ],
)
async def test_what_is_asked_wrongly_ends_with_2(
    office: Office, to: str, approvers: str, more: tuple[str, ...], words: str
) -> None:
    if not words:
        if office.platform == "discord":
            return  # Discord gives the number of members of a role, not their names
        words = "but nobody is in @release (requesters do not count)"
    asked = await office.ask(*more, to=to, approvers=approvers.format(platform=office.platform))
    assert words in await asked.refused()
    assert not office.shown()


@pytest.mark.parametrize(
    ("options", "clicked", "code"),
    [
        (("Deploy", "Don't deploy"), "Don't deploy", 3),
        (("Deploy", "Don't deploy"), "Deploy", 0),
        (("Stop the rollout", "Don't stop the rollout"), "Don't stop the rollout", 3),
        (("Stop the rollout", "Don't stop the rollout"), "Stop the rollout", 6),
    ],
)
async def test_a_negated_option_never_exits_as_a_yes(
    office: Office, options: tuple[str, str], clicked: str, code: int
) -> None:
    given = [word for option in options for word in ("--option", option)]
    asked = await office.start("ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", "--who", "anyone", *given)
    await office.click("ada", clicked)
    outcome = await asked.outcome(code)
    assert outcome["approved"] is (code == 0)
