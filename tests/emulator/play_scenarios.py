"""Scenarios for a small bot, and the tool that it has."""

from __future__ import annotations

TOOL = {"name": "AskUserQuestion", "description": "Ask.", "input_schema": {"type": "object", "properties": {}}}
SINGLE = """
title = "One question"
[[model]]
say = "Let me ask."
ask = { questions = [{ question = "Where?", header = "Target", multiSelect = false, options = [
  { label = "Staging", description = "Nobody sees it" }, { label = "Production", description = "All see it" } ] }] }
[[model]]
say = "Noted."
[[step]]
write = "deploy, please"
[[step]]
expect.card = ["Where?", "Nobody sees it"]
expect.controls = ["staging", "Something else"]
expect.without = "Submit"
[[step]]
press = "Staging"
[[step]]
expect.told = 'User has answered your questions: "Where?"="Staging".'
[[step]]
expect.settled = true
expect.card = "Staging"
[[step]]
expect.says = "noted"
"""
SEVERAL = """
title = "Several"
[[model]]
ask = { questions = [{ question = "Which?", header = "Checks", multiSelect = true, options = [
  { label = "Unit tests" }, { label = "Load test" }, { label = "A scan" } ] }] }
[[model]]
say = "Noted."
[[step]]
write = "which checks?"
[[step]]
tick = ["Unit tests", "3"]
[[step]]
press = "submit"
[[step]]
expect.told = { contains = ["Unit tests, A scan"] }
"""
WRITTEN = """
title = "In own words"
[[model]]
ask = { questions = [{ question = "How?", header = "How", multiSelect = false, options = [{ label = "A" }] }] }
[[model]]
say = "Noted."
[[step]]
write = "how?"
[[step]]
press = "Something else"
[[step]]
type = "   "
submit = true
[[step]]
expect.field_error = "cannot be empty"
[[step]]
type = "Slowly ⚡"
field = "your answer"
submit = true
[[step]]
expect.dialog = false
expect.told.contains = "Slowly ⚡"
[[step]]
expect.says = "Noted."
"""
WHO_MAY = """
title = "Strangers and latecomers"
by = "ben"
[[model]]
ask = { questions = [{ question = "Where?", header = "W", multiSelect = false, options = [{ label = "Staging" }] }] }
[[model]]
say = "Noted."
[[step]]
write = "deploy"
in = "deploys"
[[step]]
press = "Staging"
by = "ada"
refused = "only ben"
[[step]]
press = "Staging"
[[step]]
expect.settled = true
[[step]]
press = "Staging"
late = true
refused = "too late"
"""
TALKS = """
title = "Three conversations"
tool = "AskUserQuestion"
[[step]]
write = "first"
[[step]]
model = { say = "One." }
[[step]]
expect.says = "One."
[[step]]
write = "and second"
new = true
[[step]]
model = { say = "Two.", fault = { kind = "overloaded" } }
[[step]]
expect.says = "Two."
[[step]]
write = "third"
in = "dm"
[[step]]
[step.model.ask]
questions = [{ question = "City?", header = "C", multiSelect = false, options = [
  { label = "Athens" }, { label = "Berlin" }, { label = "Bern" }, { label = "Oslo" }, { label = "Rome" } ] }]
[[step]]
model = { say = "Three." }
[[step]]
pick = "Bern"
[[step]]
expect.told.contains = '"City?"="Bern"'
[[step]]
expect.says = "Three."
expect.settled = true
"""
IN_VAIN = ("no update", "no result", "unpaired")
"""The breakages after which the expected event never comes."""
GOOD = {"single": SINGLE, "several": SEVERAL, "written": WRITTEN, "who may": WHO_MAY, "talks": TALKS}
