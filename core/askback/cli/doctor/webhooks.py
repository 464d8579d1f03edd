"""Check that the outcomes for webhooks arrive."""

from __future__ import annotations

__all__ = ["examine_webhooks"]

from askback.errors import OperatorError
from askback.ports.findings import Finding, report_warning
from askback.store.external_access import DatabaseLocation, read_snapshot
from askback.store.queries import webhooks


def examine_webhooks(where: DatabaseLocation) -> list[Finding]:
    """Return findings about outcomes that did not arrive. Blocks until done.

    The database's own findings report why it cannot be read.
    """
    try:
        found = read_snapshot(where, webhooks.count)
    except OperatorError:
        return []
    findings: list[Finding] = []
    if found.late:
        summary = f"{_count(found.late)} been waiting for more than an hour to be sent to a webhook."
        cure = "Start `askback serve` with the callers that asked, or look in its log for webhook_later."
        findings.append(report_warning("webhooks", summary, cure))
    if found.failed:
        summary = f"{_count(found.failed)} not reached a webhook within the last week, and askback has given up."
        cure = f"See the reason of the last one: askback show {found.failed_ask}"
        findings.append(report_warning("webhooks", summary, cure))
    return findings


def _count(number: int) -> str:
    return "1 outcome has" if number == 1 else f"{number:,} outcomes have"
