"""Every sentence that people read in a chat is wrapped for translation.

The test reads the sources. It knows what is for others by the call around it, such as a log line or an error for the
operator. What it cannot know is listed here, with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from translations.sentences import ROOT, find_unwrapped, find_wrapped, list_sources

SPEAKING = (
    "core/askback/agent/", "core/askback/domain/", "core/askback/inbound/", "core/askback/manager/",
    "core/askback/runtime/delivery_retries.py", "core/askback/store/stop_transactions.py",
    "bots/askback_discord/", "bots/askback_slack/",
)  # fmt: skip
"""The modules and packages that speak to people in a chat."""

FOR_OTHERS = {
    # These are words of every language, to recognize what callers wrote.
    "core/askback/domain/verdicts.py",
    # The model reads these.
    "core/askback/agent/history_reader.py", "core/askback/agent/prompt.py", "core/askback/agent/transcript.py",
    # The operator reads these: errors of settings, platforms and connections, and what the doctor says. A person reads
    # the error of a platform only as the reason within a sentence, and it names what the operator has to do.
    *(f"bots/askback_{bot}/{name}.py" for bot in ("discord", "slack")
      for name in ("api_calls", "app", "doctor", "groups", "limits", "settings", "setup", "install", "history")),
    "bots/askback_discord/answer_check.py", "bots/askback_discord/directory.py", "bots/askback_discord/gateway.py",
    "bots/askback_discord/login.py", "bots/askback_discord/thread_api.py", "bots/askback_slack/directory.py",
    "bots/askback_slack/http.py", "bots/askback_slack/http_session.py", "bots/askback_slack/socket_mode.py",
    "core/askback/agent/client_loader.py", "core/askback/agent/settings.py",
    # The authors of schemas read these.
    "core/askback/domain/json_schema.py", "core/askback/domain/schema_choices.py",
    *(f"core/askback/domain/{name}.py"
      for name in ("plain_schema", "schema_numbers", "schema_rules", "schema_text", "schema_texts", "schema_writer")),
}  # fmt: skip
"""Modules that speak to the model, to operators or to programmers only."""

EXEMPT: Mapping[str, tuple[str, ...]] = {
    "bots/askback_discord/card_content.py": ("inline code",),
    "bots/askback_discord/card_parts.py": ("inline code",),
    "bots/askback_discord/events.py": ("A deletion", "A message", "An edit"),
    "bots/askback_discord/missed_messages.py": ("What answered is not",),
    "bots/askback_discord/files.py": ("the sticker ", "unnamed file"),
    "bots/askback_discord/threads.py": ("the channel or thread of this question was deleted.",),
    "bots/askback_slack/dispatch.py": ("of no type",),
    "bots/askback_slack/events.py": ("the channel of this question was ",),
    "bots/askback_slack/files.py": ("the Slack app lacks the permission files:read.", "unnamed file"),
    "core/askback/agent/approvals.py": (" was not run: it needs approval, and ",),
    "core/askback/agent/approver_shortage.py": ("{names} wrote what you act on.",),
    "core/askback/agent/audience.py": (
        "You can ask ", "nobody is asked.", "There is nobody in this thread to address", " and  more",
    ),
    "core/askback/agent/file_blocks.py": (
        "It is still being read.", "Its content is ", "The model's service rejected a file", "attached file: ",
        "unnamed file", ". You cannot read it. ",
    ),
    "core/askback/agent/messages_api.py": ("The stream ended before", "too long"),
    "core/askback/agent/queued_text.py": ("an earlier text of this conversation",),
    "core/askback/agent/tool_calls.py": (
        "People have read that.", "This was not asked: ", " was not run, since its input", ". Call it again like that.",
        "Nobody can answer my questions here: ", "There is no tool . The tools are", "Nobody was asked.",
        "Nobody was asked: questions have no deadline",
    ),
    "core/askback/agent/tool_execution.py": (" was not run: it now needs an approval",),
    "core/askback/agent/tool_runner.py": (
        " was not run: ", " did not end within", "Interrupted, outcome unknown", "all  threads for tools",
        "all event loops of async tools", "There is no tool  any more.",
    ),
    "core/askback/domain/file_kinds.py": ("0 kB",),
    "core/askback/domain/approval.py": (
        " was denied. It was not run.", "Nobody decided in time whether ", " was not run: nobody could be asked",
        "The request to run ", "the platform cannot reach anybody here",
        "People approved  with changes: ", " is  (changed by )", " and not ", "left out",
    ),
    "core/askback/domain/approval_title.py": (
        "is empty, or has", "has  characters.", "is not a template", "contains {}",
    ),
    "core/askback/manager/new_asks.py": ("The deadline ",),
    "core/askback/domain/ask_policy.py": ("have to agree", "have to refuse", " (requesters do not count)"),
    "core/askback/domain/bot_access.py": (
        "Only these may talk to the bot", "Nobody may talk to the bot", "may talk to the bot.", "in its own workspace ",
    ),
    "core/askback/domain/edit_schema.py": ("The schema has rules about several parameters",),
    "core/askback/domain/edit_rules.py": ("A form has at most ", "There is no parameter ", "The property  has values"),
    "core/askback/domain/form.py": (
        "the id", "the value", " is not the value of an option", "has several values", "has  questions: give",
        " is not an earlier question", " has no option",
    ),
    "core/askback/domain/incoming_message.py": ("(mentioned you without a text)",),
    "core/askback/domain/late_answers.py": ("your questions", "(too late to be an answer to "),
    "core/askback/domain/outcome.py": ("the question",),
    "core/askback/domain/schedule.py": ("as far as I know, the question was not posted",),
    "core/askback/domain/timeout_action.py": (" has no default: ", "The default of ", " asks for files, which have "),
    "core/askback/domain/answer_file.py": ("Its contents have not been read yet.",),
    "core/askback/domain/file_rules.py": ("the kind",),
    "core/askback/inbound/answer_parser.py": ("not now",),
    "core/askback/inbound/card_recovery.py": ("the platform did not answer in time.",),
    "core/askback/inbound/message_edits.py": ("too late",),
    "core/askback/runtime/delivery_retries.py": (" (tried for ",),
    "core/askback/store/stop_transactions.py": ("Somebody stopped this before it finished.",),
}  # fmt: skip
"""Single texts for the model, for operators and for programs, by their beginnings."""


def is_speaking(module: str) -> bool:
    return module.startswith(SPEAKING) and module not in FOR_OTHERS


MODULES = tuple(filter(is_speaking, list_sources()))


def list_unwrapped(module: str, source: str | None = None) -> list[str]:
    """Return the sentences of a module that are neither wrapped nor known to be for others."""
    exempt = EXEMPT.get(module, ())
    found = find_unwrapped(module, source)
    return [f"{module}:{line}: {text!r}" for line, text in found if not (exempt and text.startswith(exempt))]


def test_no_module_says_a_sentence_to_people_that_cannot_be_translated() -> None:
    found = [text for module in MODULES for text in list_unwrapped(module)]
    assert not found, "Wrap these with `_`, `ngettext` or `N_`:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("module", "added"),
    [
        ("core/askback/domain/not_now.py", 'LATER = "Please ask me later."'),
        (
            "core/askback/domain/not_now.py",
            'def refuse(name):\n    raise NotPossible(f"Nobody is called {name}.")',
        ),
        ("bots/askback_slack/controls.py", 'def build_more(card):\n    return button("Show more", card)'),
        (
            "bots/askback_slack/controls.py",
            'def more(card):\n    return button("More" if card else _("Less"), card)',
        ),
        ("bots/askback_discord/text_modal.py", 'MODAL = {"title": "Answer"}'),
        ("bots/askback_discord/clicks.py", 'WHY = f"{_(TAKEN)} Thank you."'),
    ],
)
def test_a_sentence_that_is_added_without_a_translation_is_found(module: str, added: str) -> None:
    source = (ROOT / module).read_text(encoding="utf-8")
    assert not list_unwrapped(module, source)
    assert len(list_unwrapped(module, f"{source}\n\n{added}\n")) == 1


def test_the_lists_of_these_tests_name_what_exists() -> None:
    assert set(list_sources()) >= FOR_OTHERS
    for module, beginnings in EXEMPT.items():
        texts = [text for _, text in find_unwrapped(module)]
        assert not [one for one in beginnings if not any(text.startswith(one) for text in texts)], module


def test_only_literals_are_wrapped() -> None:
    """No catalogue has an f-string, and a text of a person could be equal to a sentence."""
    assert sum(1 for module in list_sources() for _ in find_wrapped(module)) > 300
    with pytest.raises(AssertionError, match="f-string"):
        list(find_wrapped("one.py", '_(f"Hello {name}")'))
