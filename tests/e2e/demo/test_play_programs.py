"""A step of a play that runs a real program, `askback ask`, with pictures, and what its author reads."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import askback_sandbox
from askback_sandbox.services import Services
from e2e.demo.accessibility import check
from e2e.demo.conftest import Shot
from e2e.demo.living_page import PlatformName, living
from e2e.demo.page_actions import expect
from e2e.demo.plays import Played, all_of, environment
from support.browser import browsing
from support.processes import Launcher

PICTURES = Path(askback_sandbox.__file__).parent / "scenarios" / "pictures.toml"
PATIENCE = 200

ASKING = """
title = "A program"
[[step]]
within = 120
program = { questions = [{ id = "logo", header = "Logo", prompt = "Which logo?", options = [
  { value = "blue", label = "Blue", image = "https://images.example.com/blue.png" },
  { value = "red", label = "Red", image = "https://images.example.com/red.png" } ] }] }
[[step]]
expect.card = ["Which logo?", "(picture: Blue)"]
expect.pictures = "https://images.example.com/blue.png"
[[step]]
press = "Blue"
[[step]]
expect.outcome = { status = "answered", answers = { logo = "blue" } }
"""
OUTCOME = '[[step]]\nexpect.outcome = { status = "answered", answers = { logo = "blue" } }\n'
PRESS = '[[step]]\npress = "Blue"\n'
WRONG = {
    "another outcome": (
        ASKING.replace('answers = { logo = "blue" }', 'answers = { logo = "red" }'),
        r'step 4 \(expect\): the program got another outcome:\s+answers: expected \{"logo": "red"\}, but it printed',
    ),
    "another picture": (
        ASKING.replace(
            'pictures = "https://images.example.com/blue', 'pictures = "https://elsewhere.example/b'
        ).replace('/b.png"\n', '/b.png"\nwithin = 2\n'),
        r"step 2 \(expect\): .*the picture https://elsewhere\.example/b\.png on the card; there is https://images",
    ),
    "an address that is not https": (
        ASKING.replace("https://images.example.com/red", "http://images.example.com/red"),
        r"step 1 \(program\): the program ended before anybody answered:\s+askback: .*image.* is not an https address",
    ),
    "an outcome that no step checks": (
        ASKING.replace(OUTCOME, ""),
        r"at the end, no step checks the outcome of 1 of the programs: add expect\.outcome",
    ),
    "an outcome that nobody gives": (
        ASKING.replace(PRESS, "").replace(OUTCOME, f"{OUTCOME}within = 2\n"),
        r"step 3 \(expect\): not within 2 s: the program still waits",
    ),
    "an outcome without a program": (
        'title = "T"\n[[step]]\nwrite = "hello"\n[[step]]\nexpect.outcome = { status = "answered" }\n',
        r"step 2 \(expect\): no program asks that has not printed its outcome",
    ),
}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory, launcher: Launcher) -> Played:
    return all_of(launcher, tmp_path_factory.mktemp("wrong"), {name: (what, None) for name, (what, _) in WRONG.items()})


def test_a_program_asks_with_pictures_on_both_platforms_and_prints_what_people_answered(
    launcher: Launcher, tmp_path: Path
) -> None:
    done = launcher.run("demo", "--play", str(PICTURES), folder=tmp_path, environment=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    for played in done.stdout.split("── Discord ──"):
        assert "(picture: Blue circle)" in played
        assert played.count("» a program asks: askback ask --form - --to ") == 1
        assert played.count('→ the program printed: {"id": ') == 1
        assert played.count("1 question of a program, each answered exactly once.") == 1


@pytest.mark.parametrize("name", WRONG)
def test_what_a_program_gets_wrong_ends_the_play_with_1_and_says_why(wrong: Played, name: str) -> None:
    done = wrong[name]
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(WRONG[name][1], done.stdout, re.DOTALL), done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_program_that_still_waits_ends_with_the_play(wrong: Played) -> None:
    assert wrong["an outcome that nobody gives"].returncode == 1
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [
        line for line in listed.splitlines() if "askback ask --form - --to slack:#general --approvers anyone" in line
    ]


@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_picture_that_does_not_load_is_a_frame_with_its_words_and_its_address(
    services: Services, shot: Shot, tmp_path: Path, platform: PlatformName
) -> None:
    form = {
        "questions": [
            {
                "id": "logo",
                "header": "Logo",
                "prompt": "Which logo?",
                "options": [
                    {"value": name, "label": f"A {name} circle", "image": f"https://images.invalid/{name}.png"}
                    for name in ("blue", "red")
                ],
            }
        ]
    }
    file = tmp_path / "form.json"
    file.write_text(json.dumps(form))
    async with living(services, platform), browsing(without_pictures=True) as open_page:
        where = f"{services.url}/#{'discord' if platform == 'discord' else ''}"
        page = await open_page(where)
        arguments = (
            "-m",
            "askback",
            "ask",
            "--form",
            str(file),
            "--to",
            f"{platform}:#general",
            "--approvers",
            "anyone",
        )
        asking = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=dict(os.environ), stdout=asyncio.subprocess.PIPE
        )
        card = page.locator(".main .message").filter(has_text="Which logo?").last
        await expect(card).to_be_visible(timeout=PATIENCE * 1000)
        frame = card.get_by_role("img", name="A blue circle")
        await expect(frame).to_contain_text("This picture did not load: https://images.invalid/blue.png")
        await check(page, f"pictures that do not load, {platform}")
        await shot(page, f"pictures-{platform}")
        await card.get_by_role("button", name="A blue circle").click()
        out, _ = await asyncio.wait_for(asking.communicate(), PATIENCE)
        assert json.loads(out)["answers"] == {"logo": "blue"}
