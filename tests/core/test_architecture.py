"""The arrows point one way: bots know the core, the core knows no bot, and the pure parts know no effects.

Read from the sources, so that a wrong import fails here before it can be needed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "askback"
BOTS = ROOT / "bots"
PLATFORMS = ("slack", "discord")

PURE = {
    "questions", "interview", "voting", "policy", "card", "actions", "asks", "conversations", "identity", "values",
    "errors", "deciding", "requesters", "standing", "timing", "tools",
    "agent.answer", "agent.audience", "agent.budget", "agent.compaction", "agent.earlier", "agent.naming",
    "agent.prompt", "agent.shortage",
    "messages.access", "messages.commands", "messages.late", "messages.typed",
    "settings.address", "settings.approvers", "settings.durations", "settings.idlist",
    "text.literal", "text.markdown",
}  # fmt: skip
"""Modules, and packages with all that is in them."""
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
PURE_IMPORTS = {*PURE, "clock"}
"""What of askback a pure module may import: `clock` is the reading of a time that was given."""

CLI_WORDS = {"slack"}
"""The command line names a platform in one place: the default of `preview --platform`."""


def sources(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    assert found, f"no source was found in {folder.name}: a test that reads nothing proves nothing"
    return found


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    """The full names of what a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
    """Names and texts of a module's code. Docstrings, the texts under attributes and `help=` are for people."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
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
    """Whether a module of askback (`messages.late`), or a package that it is in, is one of these."""
    parts = module.split(".")
    return any(".".join(parts[: count + 1]) in among for count in range(len(parts)))


def module(path: Path) -> str:
    return ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__")


PURE_SOURCES = [path for path in sources(CORE) if pure(module(path))]


def test_the_sources_are_where_these_tests_look_for_them():
    assert {"askback_slack", "askback_local"} <= set(BOT_PACKAGES)
    assert len(sources(CORE)) > 20
    assert {module(path) for path in PURE_SOURCES} >= PURE
    assert sum(path.parent.name == "tools" for path in PURE_SOURCES) >= 6


@pytest.mark.parametrize("path", sources(CORE), ids=name)
def test_the_core_imports_no_bot(path: Path):
    bots = {package for package in packages(path) if package.startswith("askback_")}
    assert not bots
    assert not {package for package in packages(path) if package.startswith(PLATFORMS)}


@pytest.mark.parametrize("path", sources(CORE), ids=name)
def test_the_core_holds_no_platform_word(path: Path):
    allowed = CLI_WORDS if path == CORE / "cli.py" else set[str]()
    found = [
        f"line {line}: {word}"
        for line, word in words(path)
        if any(platform in word.lower() for platform in PLATFORMS) and word not in allowed
    ]
    assert not found


@pytest.mark.parametrize("package", BOT_PACKAGES)
def test_a_bot_imports_no_other_bot(package: str):
    others = set(BOT_PACKAGES) - {package}
    for path in sources(BOTS / package):
        assert not packages(path) & others, name(path)


@pytest.mark.parametrize("path", sources(BOTS / "askback_local"), ids=name)
def test_the_services_on_this_machine_know_neither_askback_nor_a_bot(path: Path):
    assert not {package for package in packages(path) if package.startswith("askback")} - {"askback_local"}


@pytest.mark.parametrize("path", PURE_SOURCES, ids=name)
def test_pure_modules_import_no_effects(path: Path):
    assert not packages(path) & EFFECTS


@pytest.mark.parametrize("path", PURE_SOURCES, ids=name)
def test_pure_modules_build_on_pure_modules_only(path: Path):
    found = {one.removeprefix("askback.") for one in imports(path) if one.startswith("askback.")}
    rooms = {name for name in found if (CORE / name / "__init__.py").exists()}  # `from askback.messages import late`
    assert not [one for one in found - rooms if not pure(one, PURE_IMPORTS)]


def test_what_calls_itself_pure_is_held_to_it():
    said = [path for path in sources(CORE) if "Pure" in (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")]
    assert {module(path) for path in said} - {"doctor.clock", "asking.result"} <= {
        module(path) for path in PURE_SOURCES
    }


@pytest.mark.parametrize("path", sources(CORE), ids=name)
def test_only_commands_know_that_there_is_a_process(path: Path):
    """What asks, decides, keeps and talks is the same in a library that somebody else's process uses."""
    if module(path).split(".")[0] not in {"serving", "cli", "demo", "operate", "asking", "__init__"}:
        assert not [imported for imported in imports(path) if imported.startswith("askback.serving")]


@pytest.mark.parametrize("path", PURE_SOURCES, ids=name)
def test_pure_modules_hold_no_coroutine_and_read_no_clock(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith)
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in {"datetime.now", "time.time", "utc_now", "now", "open", "print"}


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
