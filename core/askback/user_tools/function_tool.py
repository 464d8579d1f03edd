"""Make a tool of a typed function: its schema for the model, and its arguments from the model's input."""

from __future__ import annotations

__all__ = ["UserTool"]

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, cast, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import ArgsKwargs
from typing_extensions import TypeIs

from askback.domain.approval_title import find_template_problem
from askback.domain.edit_rules import EditRules, build_parameter_rules
from askback.domain.schema_choices import UnsupportedSchema
from askback.errors import CallerError, ModelError, to_problems
from askback.internal.extras import import_extra
from askback.user_tools.decorator import ApprovalRule, ToolContext, get_options

# Allowed names of tools: https://docs.anthropic.com/en/docs/build-with-claude/tool-use
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_AT_THE_TOP = ("anyOf", "oneOf", "allOf")

Function = Callable[..., object]


class _Declared(Protocol):
    """The common attributes of the objects that anthropic's two decorators return."""

    func: Function
    name: str
    description: str

    def to_dict(self) -> Mapping[str, JsonValue]: ...


@dataclass(frozen=True, slots=True)
class UserTool:
    """A tool of the operator's."""

    name: str
    definition: Mapping[str, JsonValue]
    """The definition that is sent to the model."""
    function: Function
    is_async: bool
    idempotent: bool
    timeout: float | None
    """Time limit in seconds. None means the limit of the setting."""
    context: str | None
    """The parameter that takes the `ToolContext`, if there is one."""
    input_adapter: TypeAdapter[dict[str, object]]
    """Converts an input to arguments."""
    approval: bool = False
    """True if people have to approve each call."""
    approval_if: ApprovalRule | None = None
    """Decides which calls need that. None means all."""
    title: str | None = None
    """The template of the question to them. None means that it names the tool."""
    edit: bool | tuple[str, ...] = False
    """The parameters that they may change first. True means all of them."""

    @classmethod
    def from_object(cls, value: object) -> UserTool:
        """Build a tool from a function, or from the result of anthropic's `beta_tool` or `beta_async_tool`.

        Raises `CallerError`, whose text continues a sentence that starts with the tool's name. Raises `OperatorError`
        if the agent's extra is not installed.
        """
        # Import this only if there are such tools, since no other part of a start takes longer.
        with import_extra("agent", "The agent"):
            from anthropic import beta_tool

        declared = value if _is_declared(value) else None
        function = value if declared is None else declared.func
        if not (inspect.isfunction(function) or inspect.ismethod(function)):
            raise CallerError("is not a function. Name a function, or a list of functions.")
        arguments, context = _probe(function, free=declared is not None)
        if declared is not None and context is not None:
            raise CallerError("has a ToolContext parameter, which the model could set: remove anthropic's decorator.")
        try:
            definition = _build_definition(declared or cast("_Declared", beta_tool(arguments)))
            adapter = cast("TypeAdapter[dict[str, object]]", TypeAdapter(cast("type[object]", arguments)))
        except (PydanticUserError, TypeError, ValueError, NameError) as error:
            what = str(error).splitlines()[0].rstrip(".")
            raise CallerError(f"has a parameter whose type has no JSON schema ({what}). Change the type.") from None
        name = str(definition["name"])
        if not _NAME.fullmatch(name):
            raise CallerError("has a name that the model's service rejects. Use 1 to 64 of a-z, A-Z, 0-9, _ and -.")
        schema = definition.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object" or any(key in schema for key in _AT_THE_TOP):
            raise CallerError('has an input_schema that the model\'s service rejects. Its "type" must be "object".')
        traits = get_options(value, function)
        problem = None if traits.title is None else find_template_problem(traits.title, _list_parameters(schema))
        if problem is not None:
            raise CallerError(f"has an approval title that {problem}")
        if traits.approval_if is not None:
            _check_rule(traits.approval_if, _list_parameters(schema))
        made = cls(
            name=name,
            definition=definition,
            function=function,
            is_async=inspect.iscoroutinefunction(function),
            idempotent=traits.idempotent,
            timeout=traits.timeout,
            context=context,
            input_adapter=adapter,
            approval=traits.approval,
            approval_if=traits.approval_if,
            title=traits.title,
            edit=traits.edit,
        )
        try:
            made.build_parameter_rules()
        except UnsupportedSchema as error:
            raise CallerError(
                f"has parameters that people cannot change. {' '.join(str(error).splitlines())} Name those that they "
                'can, such as edit=["version"], or leave out edit.'
            ) from None
        return made

    def build_parameter_rules(self) -> EditRules | None:
        """Return the rules for the parameters that people may change. None if they may change none.

        Their questions are in the current language. Raises `UnsupportedSchema`.
        """
        if not self.edit:
            return None
        schema = cast("Mapping[str, JsonValue]", self.definition["input_schema"])
        return build_parameter_rules(schema, None if isinstance(self.edit, bool) else self.edit)

    def is_exempt(self, arguments: Mapping[str, object]) -> bool:
        """Return True if the tool's own rule says that a call with these arguments needs no approval.

        This runs the operator's rule, which may raise anything. Only its False exempts a call.
        """
        if self.approval_if is None:
            return False
        parameters = inspect.signature(self.approval_if).parameters.values()
        takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
        names = {one.name for one in parameters}
        given = {name: value for name, value in arguments.items() if name != self.context}
        return self.approval_if(**{name: one for name, one in given.items() if takes_all or name in names}) is False

    def parse_arguments(self, data: object, context: ToolContext) -> dict[str, object]:
        """Return the arguments for an input. Raises `ModelError` that names every problem with it.

        This runs code of the parameters' types, such as the operator's validators.
        """
        if not isinstance(data, dict):
            raise ModelError(f"{self.name} was not run: its input must be a JSON object.")
        try:
            found = self.input_adapter.validate_python(ArgsKwargs((), cast("dict[str, object]", data)))
        except ValidationError as error:
            problems = "; ".join(map(str, to_problems(error)))
            raise ModelError(f"{self.name} was not run, because its input is invalid: {problems}") from None
        return found if self.context is None else {**found, self.context: context}


def _is_declared(value: object) -> TypeIs[_Declared]:
    from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionTool

    return isinstance(value, BetaFunctionTool | BetaAsyncFunctionTool)


def _list_parameters(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()


def _check_rule(rule: ApprovalRule, parameters: tuple[str, ...]) -> None:
    """Raise `CallerError` if a rule for approvals has a parameter that the tool does not have."""
    kinds = inspect.Parameter
    try:
        named = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):
        raise CallerError("has an approval_if whose parameters cannot be read. Use a function of your own.") from None
    for one in named:
        if one.kind in (kinds.POSITIONAL_ONLY, kinds.VAR_POSITIONAL):
            raise CallerError(f"has an approval_if with a parameter that has no name ({one}). Use only named ones.")
        if one.kind is not kinds.VAR_KEYWORD and one.name not in parameters:
            raise CallerError(
                f"has an approval_if with the parameter {one.name}, which the tool does not have. "
                f"Its parameters are: {', '.join(parameters)}."
            )


def _build_definition(declared: _Declared) -> dict[str, JsonValue]:
    definition = dict(declared.to_dict())
    if not definition.get("description"):
        definition.pop("description", None)
    return definition


def _probe(function: Function, *, free: bool) -> tuple[Callable[..., str], str | None]:
    """Return a function with the same parameters that returns its arguments, and the context's parameter.

    It validates an input before the real function is called, so that a `ValidationError` in the real function is not
    mistaken for an invalid input. `free` permits more arguments, since another schema describes them. Raises
    `CallerError`.
    """
    signature = inspect.signature(function)
    try:
        hints: dict[str, object] = get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise CallerError(f"has an invalid annotation ({error}). Import the type that it names.") from None
    kinds = inspect.Parameter
    bare: list[str] = []
    context: str | None = None
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        variable = parameter.kind is kinds.VAR_KEYWORD
        if parameter.kind in (kinds.POSITIONAL_ONLY, kinds.VAR_POSITIONAL) or (variable and not free):
            raise CallerError(f"has a parameter that has no name for the model ({parameter}). Use only named ones.")
        if hints.get(name) is ToolContext:
            context = name
        elif name not in hints and not variable:
            bare.append(name)
        else:
            kind = parameter.kind if variable else kinds.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints.get(name, object)))
    if bare:
        raise CallerError(
            f"has parameters without a type ({', '.join(bare)}). Annotate them: the model reads the types."
        )

    def return_arguments(**given: object) -> str:
        return cast("str", given)

    return_arguments.__name__, return_arguments.__module__ = function.__name__, function.__module__
    return_arguments.__doc__ = inspect.getdoc(function)
    return_arguments.__annotations__ = {one.name: one.annotation for one in parameters}
    return_arguments.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess] - as inspect reads it
    return return_arguments, context
