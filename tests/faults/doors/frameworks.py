"""The agent frameworks whose doors are tried. Each is one entry of `FRAMEWORKS`: a program that its users would write.

An entry opens an agent with one tool call that needs people. `run` begins it, and `resume` continues it in another
process.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from dataclasses import replace as evolve
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """The work of an agent."""

    folder: Path
    """Holds what the framework saves."""
    to: str
    run: str
    """The id of the run, such as a thread or a conversation."""
    site: str
    """The subject of the question. People see it on the card."""
    model: str
    """The address of the scripted model, for a framework whose own program needs one."""
    deploy: Callable[[str], None]
    """The effect of the tool. It takes what people answered, or what they approved."""


class Agent(Protocol):
    """An agent behind its door."""

    async def run(self) -> object: ...

    async def resume(self, *, again: bool) -> object: ...


class CallGone(Exception):
    """Raised if the framework no longer waits for the call, and its caller was told so."""


APPROVED = "approved"
"""The answer of people who approve a call."""
CLAUDE, CLAUDE_TOOL = "claude-agent-sdk", "mcp__shop__deploy"
REISSUE_SECONDS = 30.0
"""Seconds until a session of Claude Code that does not wait for its call is given up."""
REGIONS = ("Europe", "America")
"""The options of a question."""


@dataclass
class LangGraphAgent:
    """A graph that asks with `interrupt`."""

    graph: Any
    door: Any
    job: Job

    async def run(self) -> object:
        return await self.door.run({"answer": ""}, self.job.run)

    async def resume(self, *, again: bool) -> object:
        result = await self.door.resume(self.job.run, again=again)
        config: Any = {"configurable": {"thread_id": self.job.run}}
        if again and (await self.graph.aget_state(config)).next:
            # It had taken the answer before it stopped, as the error said.
            return await self.graph.ainvoke(None, config)
        return result


def open_langgraph(*, nodes: int) -> Callable[[Job], AbstractAsyncContextManager[Agent]]:
    """Return the entry of a graph that deploys in the node that asks, or in the next of two nodes."""

    @asynccontextmanager
    async def open_graph(job: Job) -> AsyncGenerator[LangGraphAgent]:
        from typing import TypedDict

        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        from langgraph.graph import START, StateGraph
        from langgraph.types import interrupt

        from askback.doors.langgraph import LangGraphDoor

        class State(TypedDict):
            answer: str

        def ask(state: State) -> State:
            schema: Any = {"type": "string", "enum": [*REGIONS]}
            answer = str(interrupt(f"Where to deploy {job.site}?", response_schema=schema))
            if nodes == 1:
                job.deploy(answer)
            return {"answer": answer}

        def deploy(state: State) -> State:
            job.deploy(state["answer"])
            return state

        built = StateGraph(State)
        built.add_node("ask", ask)
        built.add_edge(START, "ask")
        if nodes == 2:
            built.add_node("deploy", deploy)
            built.add_edge("ask", "deploy")
        async with AsyncSqliteSaver.from_conn_string(str(job.folder / f"{job.run}.graph.db")) as saver:
            graph = built.compile(checkpointer=saver)
            async with LangGraphDoor(graph, to=job.to, who="anyone") as door:
                yield LangGraphAgent(graph, door, job)

    return open_graph


@dataclass
class PydanticAgent:
    """An agent whose tool needs approval."""

    door: Any
    job: Job
    saved: Path

    async def run(self) -> object:
        return (await self.door.run("Deploy it.", self.job.run)).output

    async def resume(self, *, again: bool) -> object:
        if not self.saved.exists():
            return await self.run()  # the process was killed before anybody was asked
        text = self.saved.read_text(encoding="utf-8")
        return (await self.door.resume(self.job.run, text, again=again)).output


@asynccontextmanager
async def open_pydantic_ai(job: Job) -> AsyncGenerator[PydanticAgent]:
    from pydantic_ai import Agent as ModelAgent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.tools import DeferredToolRequests

    from askback.doors.pydantic_ai import PydanticAIDoor

    saved = job.folder / f"{job.run}.json"

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("deploy", {"where": job.site}, tool_call_id="call-1")])
        return ModelResponse(parts=[TextPart("It is deployed.")])

    agent: Any = ModelAgent(FunctionModel(answer), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def deploy(where: str) -> str:
        job.deploy(APPROVED)
        return f"deployed to {where}"

    def save(conversation: str, text: str) -> None:
        replace(saved, text)

    async with PydanticAIDoor(agent, to=job.to, save=save, who="anyone", approvers="anyone") as door:
        yield PydanticAgent(door, job, saved)


@dataclass
class OpenAIAgent:
    """An agent of the OpenAI Agents SDK whose tool needs approval."""

    door: Any
    job: Job
    saved: Path

    async def run(self) -> object:
        return (await self.door.run("Deploy it.", self.job.run)).final_output

    async def resume(self, *, again: bool) -> object:
        if not self.saved.exists():
            return await self.run()  # the process was killed before anybody was asked
        text = self.saved.read_text(encoding="utf-8")
        return (await self.door.resume(self.job.run, text, again=again)).final_output


@asynccontextmanager
async def open_openai_agents(job: Job) -> AsyncGenerator[OpenAIAgent]:
    from agents import Agent as ModelAgent
    from agents import function_tool, set_tracing_disabled
    from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

    from askback.doors.openai_agents import OpenAIAgentsDoor

    set_tracing_disabled(True)
    saved = job.folder / f"{job.run}.json"

    def respond(call: Any) -> Any:
        if any(one.get("type") == "function_call_output" for one in call.input):
            return [assistant_message("It is deployed.")]
        return [function_call("deploy", {"where": job.site}, call_id="call-1")]

    @function_tool(needs_approval=True)
    def deploy(where: str) -> str:
        job.deploy(APPROVED)
        return f"deployed to {where}"

    def save(conversation: str, text: str) -> None:
        replace(saved, text)

    model = ScriptedModel([ModelStep(responder=respond)] * 3)
    agent: Any = ModelAgent(name="shop", model=model, tools=[deploy])
    async with OpenAIAgentsDoor(agent, to=job.to, save=save, who="anyone", approvers="anyone") as door:
        yield OpenAIAgent(door, job, saved)


@dataclass
class ClaudeAgent:
    """An agent of the Claude Agent SDK whose tool needs approval. Claude Code is a process of its own."""

    door: Any
    job: Job
    options: Any
    saved: Path
    """The file that names the folder with the session."""

    async def run(self) -> object:
        # A Claude Code that outlives its killed process still writes to the folder that it was given.
        replace(self.saved, tempfile.mkdtemp(prefix="claude-", dir=self.job.folder))
        options = evolve(self._build_options(), session_id=self.job.run)
        return await _read(self.door.run(f"Deploy {self.job.site}.", options))

    async def resume(self, *, again: bool) -> object:
        from askback.doors.claude_agent_sdk import NotClaimed, NotResumed

        try:
            return await _read(self.door.resume(self.job.run, self._build_options(), again=again))
        except NotResumed:
            raise CallGone from None
        except NotClaimed as error:
            if error.result != "missing":
                raise
            raise CallGone from None

    def _build_options(self) -> Any:
        from support.claude_code import build_claude_environment

        config = Path(self.saved.read_text(encoding="utf-8"))
        return evolve(self.options, env=build_claude_environment(self.job.model, config))


async def _read(messages: Any) -> str:
    """Read all messages; return what the agent said last."""
    said = ""
    async with aclosing(messages) as received:
        async for message in received:
            said = getattr(message, "result", None) or said
    return said


@asynccontextmanager
async def open_claude_agent_sdk(job: Job) -> AsyncGenerator[ClaudeAgent]:
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

    from askback.doors import claude_run
    from askback.doors.claude_agent_sdk import ClaudeAgentDoor

    @tool("deploy", "Deploy a version.", {"where": str})
    async def deploy(given: dict[str, Any]) -> dict[str, Any]:
        job.deploy(APPROVED)
        return {"content": [{"type": "text", "text": f"deployed to {given['where']}"}]}

    claude_run.REISSUE_SECONDS = REISSUE_SECONDS
    options = ClaudeAgentOptions(
        cwd=job.folder,
        setting_sources=[],
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[deploy])},
        strict_mcp_config=True,
    )
    rules: dict[str, Any] = {"who": "anyone", "approvers": "anyone", "requires_approval": [CLAUDE_TOOL]}
    async with ClaudeAgentDoor(to=job.to, **rules) as door:
        yield ClaudeAgent(door, job, options, job.folder / f"{job.run}.claude")


def replace(file: Path, text: str) -> None:
    """Replace the contents of a file at once, so that a process that is killed leaves the old or the new text."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


FRAMEWORKS: Mapping[str, Callable[[Job], AbstractAsyncContextManager[Agent]]] = {
    "langgraph": open_langgraph(nodes=1),
    "langgraph, two nodes": open_langgraph(nodes=2),
    "pydantic-ai": open_pydantic_ai,
    "openai-agents": open_openai_agents,
    CLAUDE: open_claude_agent_sdk,
}
"""Each door by its name."""
