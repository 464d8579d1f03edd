"""A chat model of LangChain that says what a test wants."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel


class Scripted(GenericFakeChatModel):
    """A model that says what the test wants."""

    def bind_tools(self, *given: Any, **named: Any) -> Any:
        return self
