"""Decides what an action does to an ask: checks the policy, then applies it to the votes or the interview. No I/O."""

from __future__ import annotations

__all__ = ["NOT_TO_CANCEL", "UNKNOWN", "choose_language", "decide"]

from askback.domain import late_answers
from askback.domain.actions import (
    Action,
    Cancel,
    Choose,
    EditArguments,
    OpenDecline,
    OpenEdit,
    OpenFiles,
    OpenForm,
    OpenTextField,
    Operation,
    Remind,
    ShowDetails,
    SubmitForm,
    SubmitText,
)
from askback.domain.apply_action import Closed, FilesRefused, apply_action
from askback.domain.apply_edit import EditRefused, apply_edit, build_edit_fields
from askback.domain.approval import is_approval
from askback.domain.arguments import describe_whole
from askback.domain.ask import AdmissionCheck, Ask
from askback.domain.caller_absence import Absence
from askback.domain.click_response import (
    AskFiles,
    AskForm,
    AskText,
    Details,
    FieldErrors,
    FileErrors,
    FormErrors,
    Notice,
    Redraw,
    Response,
)
from askback.domain.file_field import build_file_field
from askback.domain.form_fields import build_form_fields, find_field_problems, find_field_questions
from askback.domain.identity import Actor, MessageRef, is_person_among
from askback.domain.interview import Interview
from askback.domain.not_now import add_reminder, drop_reminder
from askback.domain.question_text import describe_answers, describe_call, describe_questions
from askback.domain.text_field import build_reason_field, build_text_field, build_vote_field
from askback.domain.text_problem import find_text_problem
from askback.domain.voting import ReasonRequired, apply_vote
from askback.errors import PersonError
from askback.translations.catalogue import N_, Language, _, use_language

NOT_TO_CANCEL = N_("Only the person who requested this can withdraw it. To refuse it, choose that option.")
NO_FORM = N_("These questions cannot be answered together. Please answer one after the other.")
UNKNOWN = N_(
    "I don't know this question. It may belong to another bot of this app: if the card does not change, click again. "
    "If that does not help, it is closed."
)
"""Text for an unknown ask. It must hold even if another process, with another database, accepts the same click."""


def decide(
    ask: Ask | None, action: Action, *, is_admitted: AdmissionCheck, ends_any: bool = False
) -> tuple[Ask | None, Response]:
    """Return the ask to store and the response to the person.

    The ask is None if it is unknown, or if the action is rejected.

    No I/O; runs inside the commit, on the newest state. `is_admitted` returns True for people who may talk to the bot.
    `ends_any` is True for an administrator. Administrators and requesters may cancel without being asked.
    The response is in the language of the person.
    """
    with use_language(choose_language(ask, action.actor)):
        changed, response = _decide(ask, action, is_admitted, ends_any=ends_any)
        return changed, response if ask is None else _add_absence(response, ask.absence)


def _add_absence(response: Response, absence: Absence | None) -> Response:
    """Return the response with the reason why no program waits for what a person is about to write."""
    match response:
        case _ if absence is None:
            return response
        case AskText(field=field) | FieldErrors(field=field):
            return response.evolve(field=field.evolve(absence=absence))
        case AskForm(fields=fields) | FormErrors(fields=fields):
            return response.evolve(fields=fields.evolve(absence=absence))
        case _:
            return response


def choose_language(ask: Ask | None, reader: Actor) -> Language | None:
    """Return the language in which a person reads about an ask: their own, else that of its card.

    None means that neither is known.
    """
    return reader.language or (None if ask is None else ask.policy.language)


def _decide(
    ask: Ask | None, action: Action, is_admitted: AdmissionCheck, *, ends_any: bool
) -> tuple[Ask | None, Response]:
    if ask is None:
        return None, Notice(text=_(UNKNOWN), denied="unknown")
    denial = _find_denial(ask, action, is_admitted, ends_any=ends_any)
    if denial is not None:
        return None, denial
    adopted = _record_clicked_message(ask, action.message)
    if isinstance(action.operation, ShowDetails):
        return adopted, _build_details(ask, action.actor, is_admitted)
    approval = ask.policy.approval
    try:
        if isinstance(action.operation, Remind):
            return add_reminder(adopted, action, action.operation), Redraw()
        if isinstance(action.operation, OpenEdit):
            return adopted, AskForm(fields=build_edit_fields(ask, action.actor))
        if isinstance(action.operation, EditArguments):
            return apply_edit(adopted, action.operation, action), Redraw()
        interview = (
            apply_action(ask.interview, action) if approval is None else apply_vote(ask.interview, approval, action)
        )
    except ReasonRequired as missing:
        field = build_vote_field(ask.id, ask.interview, missing.index, missing.reason)
        asked = str(missing)
        return adopted, FieldErrors(message=asked, field=field) if asked else AskText(field=field)
    except EditRefused as refused:
        return adopted, FormErrors(problems=refused.problems, fields=build_edit_fields(ask, action.actor))
    except FilesRefused as refused:
        return adopted, FileErrors(message=str(refused), field=build_file_field(ask.id, ask.interview))
    except Closed:
        return adopted, Notice(text=_describe_closed(ask, action), card=ask.to_card())
    except PersonError as error:
        return adopted, Notice(text=str(error), card=ask.to_card())
    after = adopted.evolve(interview=interview)
    if approval is not None and isinstance(action.operation, Choose) and interview != ask.interview:
        after = drop_reminder(after, action.actor)
    if isinstance(action.operation, OpenTextField):
        return after, AskText(field=build_text_field(ask.id, interview))
    if isinstance(action.operation, OpenFiles):
        return after, AskFiles(field=build_file_field(ask.id, interview))
    if isinstance(action.operation, OpenForm):
        asked = find_field_questions(interview.form)
        if asked is None:
            return adopted, Notice(text=_(NO_FORM), card=ask.to_card())
        return after, AskForm(fields=build_form_fields(ask.id, interview, asked))
    if isinstance(action.operation, SubmitForm) and interview.outcome is None:
        asked, problems = find_field_questions(interview.form), find_field_problems(interview, action.operation)
        if asked is not None and problems:
            return after, FormErrors(problems=problems, fields=build_form_fields(ask.id, interview, asked))
    if isinstance(action.operation, OpenDecline):
        may_answer = ask.find_denial(action.actor, is_admitted) is None
        return after, AskText(field=build_reason_field(ask, may_answer=may_answer))
    if interview.step == ask.interview.step and (problem := _find_rejection(interview, action.operation)) is not None:
        return after, FieldErrors(message=problem, field=build_text_field(ask.id, interview))
    return after, Redraw()


def _find_rejection(interview: Interview, operation: Operation) -> str | None:
    """Return the reason why the text of an operation was not accepted. None means that it was, or that it has none."""
    unsent = interview.draft.unsent
    has_choice = isinstance(operation, Choose)
    has_text = operation.note is not None if isinstance(operation, Choose) else isinstance(operation, SubmitText)
    if unsent is None or not has_text:
        return None
    return find_text_problem(interview.question, unsent, has_choice=has_choice) or ""


def _find_denial(ask: Ask, action: Action, is_admitted: AdmissionCheck, *, ends_any: bool) -> Notice | None:
    """Return a notice that says why this person may not do this. None means they may."""
    denied = ask.find_denial(action.actor, is_admitted)
    approval = ask.policy.approval
    asker = _is_asker(ask, action.actor)
    match action.operation:
        case Cancel() if ends_any or asker:
            return None
        case OpenDecline() if approval is None and (ends_any or asker):
            return None  # of the ways, they see only to cancel it
        case Cancel() if approval is not None and denied is None:
            # One of several voters does not end it for the others.
            return Notice(text=_(NOT_TO_CANCEL), denied="not_to_cancel")
        case ShowDetails() if asker or (_has_compact_card(ask) and is_admitted(action.actor, ask.place)):
            # A settled card shows less than the open one did to everybody there.
            return None
        case _ if denied is None:
            return None
        case _ if denied == "not_taking_part" and ask.outcome is not None:
            # Taking part would change nothing any more, so the notice does not suggest it.
            return Notice(text=_describe_closed(ask, action), denied=denied)
        case _:
            return Notice(text=ask.policy.format_denial(denied), denied=denied)


def _describe_closed(ask: Ask, action: Action) -> str:
    if late_answers.get_text(action):
        return late_answers.get_late_text_notice(ask)
    return late_answers.get_closed_notice(ask)


def _has_compact_card(ask: Ask) -> bool:
    """Return True if the card leaves out parts of the question; see `Card.is_compact`."""
    return ask.outcome is not None


def _is_asker(ask: Ask, actor: Actor) -> bool:
    approval = ask.policy.approval
    askers = (*(() if ask.asked_by is None else (ask.asked_by,)), *(() if approval is None else approval.requesters))
    return is_person_among(actor, askers)


def _build_details(ask: Ask, actor: Actor, is_admitted: AdmissionCheck) -> Response:
    if _has_compact_card(ask):
        # Only those who could see the details of the open card see them now.
        with_details = _is_asker(ask, actor) or ask.find_denial(actor, is_admitted) is None
        title = _("Question") if ask.interview.form.is_single else _("Questions")
        if is_approval(ask):
            call = describe_call(ask.interview, ask.to_card().arguments, with_details=with_details)
            return Details(ask_id=ask.id, title=title, text=call, is_document=True)
        return Details(ask_id=ask.id, title=title, text=describe_questions(ask.interview, with_details=with_details))
    question = ask.interview.question
    if ask.to_card().hides_text:
        text = describe_answers(ask.interview)
        details = question.details if ask.interview.phase == "asking" and question.has_hidden_details else None
        text = text if details is None else f"{text}\n\n{details}"
        return Details(ask_id=ask.id, title=_("Your answers"), text=text)
    if question.details is None:
        return Notice(text=_("The card already shows everything."))
    text = describe_whole(question.details) if is_approval(ask) else question.details
    return Details(ask_id=ask.id, title=question.header or _("Details"), text=text, is_document=True)


def _record_clicked_message(ask: Ask, message: MessageRef | None) -> Ask:
    """Record a clicked message as the card. The click proves that it exists, even if its posting was not recorded."""
    if message is None or ask.messages[:1] == (message,):
        return ask
    # -1 forces a redraw. An earlier message that still exists becomes an extra part, which that redraw removes.
    others = tuple(other for other in ask.messages if other != message)
    return ask.evolve(messages=(message, *others), drawn_revision=-1 if ask.messages else ask.drawn_revision)
