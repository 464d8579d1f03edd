"""Dependencies point one way: bots import the core, the core imports no bot, and pure modules have no effects.

The tests read the sources, so that a wrong import fails here first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "askback"
BOTS = ROOT / "bots"
PLATFORMS = ("slack", "discord")

LAYERS = (
    "errors", "internal", "translations", "text", "domain", "tools", "ports", "user_tools", "store", "observability",
    "manager", "agent", "inbound", "settings", "network", "runtime", "client", "doors", "cli",
)  # fmt: skip
"""The packages of the core, from the bottom up: each imports only from those before it."""
ABOVE_BOTS = ("runtime", "client", "doors", "cli")
"""The layers that run the bots. A bot imports only from the layers below."""
PURE = {
    "errors", "domain", "tools",
    "agent.model_response", "agent.audience", "agent.budget", "agent.compaction", "agent.file_blocks",
    "agent.thread_history", "agent.display_names", "agent.prompt", "agent.approver_shortage",
    "client.ask_result",
    "doors.acp_call_table", "doors.acp_permissions", "doors.agent_inbox", "doors.ask_lists", "doors.ask_user",
    "doors.call_question", "doors.claude_calls", "doors.deferred_calls", "doors.interrupt_options",
    "doors.langgraph_interrupts", "doors.permission", "doors.results", "doors.tool_decisions", "doors.toolset_schemas",
    "doors.webhook_signature",
    "inbound.commands", "inbound.answer_parser", "internal.values", "ports.clock_check", "ports.findings",
    "settings.address", "settings.approvers", "settings.durations", "settings.id_list",
    "text.bodies", "text.literal", "text.markdown", "text.unseen",
}  # fmt: skip
"""Pure modules, and packages whose modules are all pure."""
EFFECTS = {
    "asyncio",
    "threading",
    "sqlalchemy",
    "aiohttp",
    "anthropic",
    "socket",
    "sqlite3",
    "os",
    "pathlib",
    "logging",
}
PURE_IMPORTS = {*PURE, "internal.clock", "translations"}
"""The askback modules that a pure module may import; `clock` only converts given times.

`translations` reads the language of the caller, and files that are a part of the program.
"""

CLI_WORDS = {"slack"}
"""The platform names in the command line: the default of `preview --platform`."""


def sources(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    assert found, f"no source was found in {folder.name}: a test that reads nothing proves nothing"
    return found


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full names of a module's imports, anywhere in it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = path.parent
                for _ in range(node.level - 1):
                    package = package.parent
                base = ".".join(package.relative_to(ROOT).parts[1:])
                module = f"{base}.{module}".rstrip(".")
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"import_module", "importlib.import_module"}:
            yield from (str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))


def packages(path: Path) -> set[str]:
    return {imported.split(".")[0] for imported in imports(path)}


def words(path: Path) -> Iterator[tuple[int, str]]:
    """Yield names and texts of a module's code, except docstrings, attribute docstrings and `help=`."""
    tree = parse(path)
    for_people: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for_people.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg in {"help", "short_help", "epilog"}:
            for_people.update(ast.walk(node.value))
    for node in ast.walk(tree):
        if node in for_people:
            continue
        line = getattr(node, "lineno", 0)
        for field in ("id", "attr", "name", "arg", "module", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield line, value
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield line, node.value


BOT_PACKAGES = sorted(path.name for path in BOTS.iterdir() if (path / "__init__.py").exists())


def pure(module: str, among: set[str] = PURE) -> bool:
    """Return True if a module of askback (`messages.late`), or a package that contains it, is in the set."""
    parts = module.split(".")
    return any(".".join(parts[: count + 1]) in among for count in range(len(parts)))


def module(path: Path) -> str:
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")


PURE_SOURCES = [path for path in sources(CORE) if pure(module(path))]


def for_types(path: Path) -> set[str]:
    """Return the modules that this module imports only for its types."""
    tree = parse(path)
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    found = (node for block in blocks for node in ast.walk(block) if isinstance(node, ast.ImportFrom))
    return {node.module for node in found if node.module}


def test_the_sources_are_where_these_tests_look_for_them():
    assert {"askback_slack", "askback_sandbox"} <= set(BOT_PACKAGES)
    assert {path.relative_to(CORE).parts[0].removesuffix(".py") for path in sources(CORE)} == {
        *LAYERS, "__init__", "__main__",
    }  # fmt: skip
    assert {module(path) for path in PURE_SOURCES} >= {name for name in PURE if "." in name}


def test_each_package_of_the_core_imports_only_from_those_below_it():
    wrong: list[str] = []
    for path in sources(CORE):
        layer = module(path).split(".")[0]
        if layer not in LAYERS:
            continue
        allowed = {*LAYERS[: LAYERS.index(layer) + 1], "__init__"}
        types = tuple(for_types(path))
        for imported in imports(path):
            package, _, rest = imported.partition(".")
            if package == "askback" and not imported.startswith(types) and rest.split(".")[0] in set(LAYERS) - allowed:
                wrong.append(f"{name(path)} imports {imported}")
    assert not wrong


def test_the_core_imports_no_bot():
    for path in sources(CORE):
        assert not {package for package in packages(path) if package.startswith(("askback_", *PLATFORMS))}, name(path)


def test_the_core_holds_no_platform_word():
    found = [
        f"{name(path)}:{line}: {word}"
        for path in sources(CORE)
        for line, word in words(path)
        if any(platform in word.lower() for platform in PLATFORMS)
        and not (path == CORE / "cli" / "main.py" and word in CLI_WORDS)
    ]
    assert not found


def test_a_bot_imports_no_other_bot():
    for package in BOT_PACKAGES:
        others = set(BOT_PACKAGES) - {package}
        for path in sources(BOTS / package):
            assert not packages(path) & others, name(path)


def test_a_bot_imports_nothing_of_what_runs_it():
    for package in BOT_PACKAGES:
        for path in sources(BOTS / package):
            for imported in imports(path):
                assert not imported.startswith(tuple(f"askback.{layer}" for layer in ABOVE_BOTS)), name(path)


def test_the_services_on_this_machine_know_neither_askback_nor_a_bot():
    for path in sources(BOTS / "askback_sandbox"):
        known = {package for package in packages(path) if package.startswith("askback")}
        assert known <= {"askback_sandbox"}, name(path)


def test_pure_modules_import_no_effects_and_build_on_pure_modules_only():
    for path in PURE_SOURCES:
        assert not packages(path) & EFFECTS, name(path)
        found = {one.removeprefix("askback.") for one in imports(path) if one.startswith("askback.")}
        whole_packages = {name for name in found if (CORE / name / "__init__.py").exists()}
        assert not [one for one in found - whole_packages if not pure(one, PURE_IMPORTS)], name(path)


def test_what_calls_itself_pure_is_held_to_it():
    words = ("Pure", "No I/O")
    said = [path for path in sources(CORE) if any(word in (ast.get_docstring(parse(path)) or "") for word in words)]
    held = {module(path) for path in PURE_SOURCES}
    assert {module(path) for path in said} - {"client.result"} <= held


def test_pure_modules_hold_no_coroutine_and_read_no_clock():
    for path in PURE_SOURCES:
        for node in ast.walk(parse(path)):
            assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith), name(path)
            if isinstance(node, ast.Call):
                reading = {"datetime.now", "time.time", "utc_now", "now", "open", "print"}
                assert ast.unparse(node.func) not in reading, name(path)


def test_no_test_file_imports_another():
    # Slack over HTTP repeats whole files of scenarios.
    read = [path for path in sources(ROOT / "tests") if path.name != "test_slack_http.py"]
    test_files = {path.stem for path in read if path.stem.startswith("test_")}
    found = [
        f"{name(path)} imports {imported}"
        for path in read
        for imported in imports(path)
        if test_files.intersection(imported.split("."))
    ]
    assert not found, "what several files need belongs into a module next to them, or into tests/support"


def test_what_these_tests_look_for_would_be_found(tmp_path: Path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        '"""A docstring about Slack."""\n'
        "import askback_slack.app as app\n"
        "def discord_limit(help_text='see Slack'):\n"
        "    from discord import Client\n"
        "    return import_module('askback_discord.app')\n"
        "option(help='Slack or Discord')\n",
        encoding="utf-8",
    )
    assert packages(wrong) == {"askback_slack", "discord", "askback_discord"}
    found = [word for _, word in words(wrong) if any(platform in word.lower() for platform in PLATFORMS)]
    assert sorted(found) == ["askback_discord.app", "askback_slack.app", "discord", "discord_limit", "see Slack"]
