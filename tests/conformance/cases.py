"""The cases of the suite that do not apply to a server with a few fixed tools, and why."""

from __future__ import annotations

from collections.abc import Mapping

FIXTURE = "calls a tool of the suite's own example server"
RESOURCES = "is about resources, and askback has none"
PROMPTS = "is about prompts, and askback has none"
LOGGING = "is about logging to the client, and askback logs to its operator"
COMPLETION = "is about the completion of arguments of prompts and resources, and askback has none"
CLIENT = "asks the client's user or model, and askback asks people in the chat; it also calls a tool of the suite's own"
SKILLS = "is about skills, and askback has none"
UNREADY = "the suite skips it itself, for now"

SCENARIOS: Mapping[str, str] = {
    "logging-set-level": LOGGING,
    "completion-complete": COMPLETION,
    **dict.fromkeys(
        (
            "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
            "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error", "tools-call-with-progress",
            "json-schema-2020-12", "server-sse-polling", "http-custom-header-server-validation", "tasks-lifecycle",
            "tasks-wire-fields", "tasks-request-state-removal", "tasks-required-task-error",
        ),
        FIXTURE,
    ),
    **dict.fromkeys(
        (
            "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums", "tasks-mrtr-input", "tasks-mrtr-composition",
            "input-required-result-basic-elicitation", "input-required-result-basic-sampling",
            "input-required-result-basic-list-roots", "input-required-result-request-state",
            "input-required-result-multiple-input-requests", "input-required-result-multi-round",
            "input-required-result-missing-input-response", "input-required-result-non-tool-request",
            "input-required-result-result-type", "input-required-result-unsupported-methods",
            "input-required-result-tampered-state", "input-required-result-capability-check",
            "input-required-result-ignore-extra-params", "input-required-result-validate-input",
        ),
        CLIENT,
    ),
    **dict.fromkeys(
        (
            "resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read",
            "resources-subscribe", "resources-unsubscribe", "sep-2164-resource-not-found",
        ),
        RESOURCES,
    ),
    **dict.fromkeys(
        (
            "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        PROMPTS,
    ),
    **dict.fromkeys(("sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"), SKILLS),
    "tasks-status-notifications": UNREADY,
}  # fmt: skip
"""Whole scenarios, with the reason. Some of them pass nevertheless, since they find nothing to test."""

CHECKS: Mapping[str, str] = {
    "sep-2549-prompts-list-caching-hints": PROMPTS,
    "sep-2549-resources-list-caching-hints": RESOURCES,
    "sep-2549-resources-templates-list-caching-hints": RESOURCES,
    **dict.fromkeys(
        (
            "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
            "tasks-per-request-meta-opt-in", "tasks-server-directed-creation-no-hint",
            "sep-2663-durable-create-strong-consistency", "tasks-headers-tolerate-mcp-method-on-tools-call",
            "sep-2663-routing-headers-accepted-on-tasks-get",
            "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get",
        ),
        FIXTURE,
    ),
}  # fmt: skip
"""Single checks of the other scenarios, with the reason."""
