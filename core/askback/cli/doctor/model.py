"""Check that the model's service accepts the key and knows the model. The request costs no tokens."""

from __future__ import annotations

__all__ = ["examine_model"]

import asyncio
import json
from typing import cast

import anthropic
from anthropic import AsyncAnthropic

from askback.errors import OperatorError
from askback.internal.clock import utc_now
from askback.network.network_error import get_failure_reason
from askback.ports.clock_check import check_clock
from askback.ports.findings import Finding, report_broken, report_error, report_good, report_warning
from askback.settings.core import Settings

ABOUT = "model"
WHOSE = "the model's service"
KEY = "Set ANTHROPIC_API_KEY to a valid key from the Anthropic console."
NETWORK = "Check the network, any proxy, and ANTHROPIC_BASE_URL if it is set."


async def examine_model(settings: Settings, seconds: float) -> list[Finding]:
    """Request the model's description. Never raises an error of the service."""
    try:
        key = settings.model_key
    except OperatorError as error:
        return report_error("key", error, KEY)
    try:
        async with AsyncAnthropic(api_key=key, max_retries=0) as client, asyncio.timeout(seconds):
            answer = await client.models.with_raw_response.retrieve(settings.model, timeout=seconds)
            date, described = answer.headers.get("date"), _parse_description(await answer.text())
    except anthropic.APIStatusError as error:
        finding = _convert_error(error, settings.model)
        return [finding, *check_clock(WHOSE, error.response.headers.get("date"), utc_now())]
    except (anthropic.APITimeoutError, TimeoutError):
        return [report_broken(ABOUT, f"The model's service did not answer within {seconds:g} s.", NETWORK)]
    except anthropic.APIConnectionError as error:
        why = get_failure_reason(error)
        return [report_broken(ABOUT, f"Could not reach the model's service ({why}).", NETWORK)]
    except anthropic.AnthropicError:
        return [report_broken("key", "The Anthropic client rejects this key or address.", KEY)]
    clock = check_clock(WHOSE, date, utc_now())
    return [_grade_model(settings.model, described), *clock]


def _parse_description(text: str) -> dict[str, object]:
    """Return the model's description as the service sent it. Other services may omit fields of it."""
    try:
        data = cast("object", json.loads(text))
    except ValueError:
        data = None
    return cast("dict[str, object]", data) if isinstance(data, dict) else {}


def _grade_model(model: str, described: dict[str, object]) -> Finding:
    if described.get("type") != "model":
        return _make_no_description_finding()
    cure = "Set ASKBACK_MODEL to the name of a model that the Anthropic console lists."
    if described.get("lifecycle") == "retired":
        return report_broken(ABOUT, f"The model {model} is retired: it no longer answers.", cure)
    if described.get("lifecycle") == "deprecated":
        day = str(described.get("retires_at") or "")[:10]
        return report_warning(ABOUT, f"The model {model} will be retired{f' on {day}' if day else ''}.", cure)
    return report_good(ABOUT, f"The model's service accepts the key and knows the model {model}.")


def _make_no_description_finding() -> Finding:
    return report_warning(
        ABOUT,
        "The service does not describe models, so the key and the model were not checked.",
        "If ANTHROPIC_BASE_URL names a proxy, mention the bot once to see whether the model answers.",
    )


def _convert_error(error: anthropic.APIStatusError, model: str) -> Finding:
    status = error.status_code
    if status == 401:
        return report_broken("key", "The model's service does not accept ANTHROPIC_API_KEY.", KEY)
    if status == 403:
        cure = "Allow it for the key's workspace in the Anthropic console, or set ASKBACK_MODEL to another model."
        return report_broken(ABOUT, f"The key may not use the model {model}.", cure)
    if status == 404 and _get_error_type(error) == "not_found_error":
        cure = "Set ASKBACK_MODEL to the name of a model that the Anthropic console lists."
        return report_broken(ABOUT, f"The model's service does not know the model {model}.", cure)
    if status in (404, 405, 501):
        return _make_no_description_finding()
    if status == 429 or status >= 500:
        cure = "Wait a little, and run askback doctor again."
        return report_warning(ABOUT, f"The model's service cannot answer at the moment (HTTP {status}).", cure)
    return report_broken(ABOUT, f"The model's service rejected the request (HTTP {status}).", f"{KEY} {NETWORK}")


def _get_error_type(error: anthropic.APIStatusError) -> object:
    body = error.body
    detail = cast("dict[str, object]", body).get("error") if isinstance(body, dict) else None
    return cast("dict[str, object]", detail).get("type") if isinstance(detail, dict) else None
