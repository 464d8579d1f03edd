"""Check a script's request for a question, and look up the names in it."""

from __future__ import annotations

__all__ = ["AskRequest", "Prepared", "prepare"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from askback.client.addressing import add_name_to_errors, build_who, check_possible, format_names, look_up_names
from askback.client.parameter_names import PYTHON, Terms, describe_problems
from askback.client.result import QUESTION_ID
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Reasons
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.timeout_action import TimeoutAction, find_default_problem
from askback.domain.verdicts import find_no, find_yes
from askback.domain.wait import Wait
from askback.domain.who import Who
from askback.errors import CallerError, InvalidValue
from askback.internal.values import Value
from askback.ports.directory import Directory, Found, Named, normalize_name
from askback.text.redaction import contains_known_secret
from askback.text.unseen import find_lookalikes, has_visible_text
from askback.translations.catalogue import Language, get_language, use_language

NO_CONSENT: Final = "people decide by voting, and silence is not consent"
"""The reason why a vote has no default."""
ONLY_OPTIONS: Final = "people who decide choose an option"
"""The reason why a vote takes no answer in own words."""

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class AskRequest(Value):
    """One question to people, in the caller's words."""

    question: str = ""
    to: str
    """The place, such as `slack:#deploys` or `discord:@ada`. The platform may be left out if only one has a token."""
    options: tuple[str, ...] = ()
    """The options to choose from. Empty if people write their answer."""
    no: tuple[str, ...] | None = None
    """The options that mean "no". None means those whose label says so, in any language of askback."""
    yes: tuple[str, ...] | None = None
    """The options that mean "yes". None means the only one that is not a "no", or those whose label says so."""
    allow_custom: bool = False
    """True if people may also write their own answer next to the options, of which none is a vote then."""
    approvers: tuple[str, ...] = ()
    quorum: int = Field(default=1, ge=1)
    refusals: int = Field(default=1, ge=1)
    reasons: Reasons = "none"
    requested_by: tuple[str, ...] = ()
    own: bool = False
    wait: Seconds | AwareDatetime | None = 7200.0
    """Seconds until the question times out, or the moment at which it does. None means no deadline."""
    on_timeout: TimeoutAction = "report"
    """The action if nobody answers within the wait."""
    default: str | None = None
    """The option or the written answer that applies then, if that is what happens. A form has its own defaults."""
    remind: tuple[Seconds, ...] = ()
    escalate: Mapping[Seconds, tuple[str, ...]] = Field(default_factory=dict[float, tuple[str, ...]])
    details: str | None = None
    language: Language | None = None
    """The language of the card. None means that of the settings."""
    form: Form | None = None
    """Several questions, or one with more than `options` can say. Then neither a question nor options are given."""
    terms: Terms = PYTHON
    """The caller's names for these parameters, for error messages."""

    def build_form(self) -> Form:
        """Return the question's form. Raises `CallerError`."""
        if self.form is not None:
            self._check_alone()
            return self.form
        if not has_visible_text(self.question):
            raise CallerError("The question is empty: write the question to ask.")
        for option in self.options:
            if not has_visible_text(option):
                raise CallerError("An option is empty: write its text, or leave it out.")
            if self.options.count(option) > 1:
                raise CallerError(f"The option {option} is given more than once: every option must be different.")
        alike = find_lookalikes(self.options)
        if alike is not None:
            raise CallerError(f"The options {alike}.")
        if not self.options:
            for name in self._list_vote_parameters():
                raise CallerError(
                    f"{self.terms.name(name)} needs options to choose from: add them with {self.terms.name('options')}."
                )
        self._check_custom()
        default = self._find_default()
        # A written answer that applies by default is offered as an option.
        labels = self.options or default
        try:
            question = Question(
                id=QUESTION_ID,
                prompt=self.question,
                options=tuple(Option(value=label, label=label) for label in labels),
                allow_custom=not self.options or self.allow_custom,
                default=default,
                details=self.details,
            )
        except InvalidValue as error:
            raise CallerError(describe_problems(error, self._name_fields())) from None
        return Form(questions=(question,))

    def _name_fields(self) -> dict[str, str]:
        """Return the caller's names of the fields of a question. Its text has none in a shell."""
        return {
            "prompt": "The question" if self.terms.is_shell else self.terms.name("question"),
            "options": self.terms.name("options"),
            "option": "An option" if self.options else self.terms.name("default"),
            "details": self.terms.name("details"),
        }

    def _find_default(self) -> tuple[str, ...]:
        """Return the value of the default; empty if there is none. Raises `CallerError`."""
        if self.default is None:
            return ()
        given = self.terms.format_parameter("default", self.default)
        if self.on_timeout != "default":
            wanted = self.terms.format_parameter("on_timeout", "default")
            raise CallerError(f"{given} applies if nobody answers in time: add {wanted}, or leave it out.")
        if not has_visible_text(self.default):
            raise CallerError(f"{self.terms.name('default')} is empty: write it, or leave it out.")
        if not self.options:
            return (self.default.strip(),)
        for name in self._list_vote_parameters():
            raise CallerError(f"{given} does not go together with {self.terms.name(name)}: {NO_CONSENT}.")
        if self.list_refusing_options() or self.list_approving_options():
            raise CallerError(f"{given} is not possible where an option is a “yes” or a “no”: {NO_CONSENT}.")
        return self._get_options("default", (self.default,))

    def _check_custom(self) -> None:
        """Raise `CallerError` if people may write their own answer to a vote."""
        if not self.allow_custom:
            return
        custom = self.terms.name("allow_custom")
        for name in self._list_vote_parameters():
            raise CallerError(f"{custom} does not go together with {self.terms.name(name)}: {ONLY_OPTIONS}.")
        if self.list_refusing_options() or self.list_approving_options():
            raise CallerError(f"{custom} is not possible where an option is a “yes” or a “no”: {ONLY_OPTIONS}.")

    def _list_vote_parameters(self) -> list[str]:
        """Return the given parameters that only a choice between options has."""
        parameters = {
            "quorum": self.quorum > 1, "refusals": self.refusals > 1, "no": self.no, "yes": self.yes,
            "reasons": self.reasons != "none", "requested_by": self.requested_by, "own": self.own,
        }  # fmt: skip
        return [name for name, given in parameters.items() if given]

    def _check_alone(self) -> None:
        """Raise `CallerError` if something is given that a form does not go together with."""
        form = self.terms.name("form")
        if self.question:
            raise CallerError(f"There are both a question and {form}: put the question into the form, or leave it out.")
        given = {
            "options": self.options,
            "allow_custom": self.allow_custom,
            "details": self.details is not None,
            "default": self.default is not None,
        }
        for name in (*(name for name, value in given.items() if value), *self._list_vote_parameters()):
            inside = "put it into the form" if name in given else "ask for a vote without a form"
            raise CallerError(f"{self.terms.name(name)} does not go together with {form}: {inside}, or leave it out.")

    def check_timeout(self, form: Form) -> None:
        """Raise `CallerError` if a timeout is to apply defaults that this question does not have."""
        if self.on_timeout != "default":
            return
        given = self.terms.format_parameter("on_timeout", "default")
        if self.wait is None:
            raise CallerError(f"{given} needs a deadline: give {self.terms.name('wait')} a time.")
        if self.form is None and self.default is None:
            raise CallerError(f"{given} needs a default: name it with {self.terms.name('default')}.")
        problem = find_default_problem(form)
        if problem is not None:
            raise CallerError(f"{given} needs a form with a default for each question: {problem}")

    def check_secrets(self) -> None:
        """Raise `CallerError` if people would read a secret that askback knows. The error does not show it."""
        texts_of_form = [] if self.form is None else self.form.list_texts()
        parts = {
            "The question": (self.question,),
            self.terms.name("details"): (self.details or "",),
            self.terms.name("options"): self.options,
            self.terms.name("default"): (self.default or "",),
            self.terms.name("form"): texts_of_form,
        }
        for name, texts in parts.items():
            if any(map(contains_known_secret, texts)):
                raise CallerError(f"{name} contains a secret of this process, which people would read: take it out.")

    def list_refusing_options(self) -> tuple[str, ...]:
        """Return the options that mean "no". Raises `CallerError` if other parameters need one and there is none."""
        found = self._find_refusing_options()
        if self.options and not found:
            for given, name in (
                (self.refusals > 1, self.terms.name("refusals")),
                (self.reasons == "no", self.terms.format_parameter("reasons", "no")),
            ):
                if given:
                    raise CallerError(
                        f"{name} needs an option that is a “no”, and there is none: name one with "
                        f"{self.terms.name('no')}, or leave out {name}."
                    )
        return found

    def _find_refusing_options(self) -> tuple[str, ...]:
        if self.no is not None:
            return self._get_options("no", self.no)
        yes = () if self.yes is None else self._get_options("yes", self.yes)
        return tuple(option for option in find_no(self.options) if option not in yes)

    def list_approving_options(self) -> tuple[str, ...]:
        """Return the options that mean "yes"; empty if there are none. Raises `CallerError`."""
        refusing = self.list_refusing_options()
        if self.yes is not None:
            both = [option for option in self._get_options("yes", self.yes) if option in refusing]
            if both:
                yes, no = self.terms.name("yes"), self.terms.name("no")
                raise CallerError(
                    f"{both[0]} cannot be both a “yes” and a “no”: name it with {yes}, or with {no}, or with neither."
                )
            return self._get_options("yes", self.yes)
        return find_yes(self.options, refusing)

    def _get_options(self, parameter: str, names: tuple[str, ...]) -> tuple[str, ...]:
        known = {normalize_name(option): option for option in self.options} | {
            option: option for option in self.options
        }
        strange = [name for name in names if name not in known and normalize_name(name) not in known]
        if strange:
            given = self.terms.format_parameter(parameter, strange[0])
            raise CallerError(f"{given}: there is no such option. The options are {', '.join(self.options)}.")
        return tuple(known.get(name) or known[normalize_name(name)] for name in names)

    def build_approval(self, requesters: tuple[Actor, ...] = ()) -> Approval | None:
        """Return the rules of the vote; None if there is none. Raises `CallerError`.

        People who write their answer do not vote, nor do those whose silence leads to a default.
        """
        if not self.options or self.default is not None or self.allow_custom:
            return None
        return Approval(
            quorum=self.quorum,
            refusing=self.list_refusing_options(),
            approving=self.list_approving_options(),
            refusals=self.refusals,
            reasons=self.reasons,
            requesters=requesters,
            own=self.own,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request with all names looked up."""

    form: Form
    found: Found
    who: Who
    approval: Approval | None
    wait: Wait | None
    on_timeout: TimeoutAction
    remind: tuple[float, ...]
    escalate: Mapping[float, Who]
    key: str
    asked: str
    """The people and groups that are asked, in words."""
    language: Language | None
    names_approvers: bool = False
    """True if the caller named the people who decide, instead of anyone."""

    def build_ask(self) -> Ask:
        """Return the ask; its times count from now. Raises `CallerError` if no one could decide it."""
        # Imported here, because it loads the store. An error in the arguments is reported without that.
        from askback.manager import build_ask, build_policy

        with use_language(self.language or get_language()):
            policy = build_policy(
                self.who,
                self.wait,
                approval=self.approval,
                remind=self.remind,
                escalate=self.escalate,
                on_timeout=self.on_timeout,
            )
        return build_ask(self.form, to=self.found.place, policy=policy, key=self.key)


async def prepare(request: AskRequest, place: str, directory: Directory, key: str, *, again: bool = False) -> Prepared:
    """Look up the names of a request. `place` is its address without the platform.

    `again` means that the question was asked before, so this does not check that anyone could decide it.

    Raises `UnknownName`, `CallerError` if no one could decide it, `DeliveryError` and `RetryableError`.
    """
    form = request.build_form()
    with add_name_to_errors(place):
        found = await directory.find_place(place)
    approvers = await look_up_names(request.approvers, found, directory)
    if not request.approvers and found.person is not None:
        approvers = [Named(name=found.name, person=found.person)]
    elif not request.approvers:
        examples = [request.terms.format_parameter("approvers", name) for name in ("@release", "@ada", "anyone")]
        raise CallerError(f"Say who may answer: {examples[0]}, {examples[1]}, or {examples[2]}.")
    requesters = await look_up_names(request.requested_by, found, directory)
    people = [one.person for one in requesters if one is not None and one.person is not None]
    if len(people) < len(requesters):
        raise CallerError(f"{request.terms.name('requested_by')} names a group: requesters must be people.")
    later = {after: await look_up_names(names, found, directory) for after, names in request.escalate.items()}
    everybody = [*approvers, *(one for names in later.values() for one in names)]
    approval = request.build_approval(tuple(people))
    if not again:
        check_possible(everybody, approval, found, request.terms)
    return Prepared(
        form=form,
        found=found,
        who=build_who(approvers),
        approval=approval,
        wait=request.wait,
        on_timeout=request.on_timeout,
        remind=request.remind,
        escalate={after: build_who(names) for after, names in later.items()},
        key=key,
        asked=format_names(approvers),
        language=request.language,
        names_approvers=bool(request.approvers) and None not in approvers,
    )
