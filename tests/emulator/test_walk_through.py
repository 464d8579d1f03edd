"""One complete pass: a mention, an answer, a click, a redrawn card."""

from __future__ import annotations

from typing import Any

BLOCKS = [
    {"type": "section", "block_id": "q", "text": {"type": "mrkdwn", "text": "Deploy?"}},
    {
        "type": "actions",
        "block_id": "a",
        "elements": [
            {
                "type": "button",
                "action_id": "yes",
                "text": {"type": "plain_text", "text": "Yes"},
                "value": "1",
            }
        ],
    },
]


async def test_a_bolt_bot_hears_a_mention_posts_and_gets_a_click(bot, services, hands) -> None:
    clicks: list[dict[str, Any]] = []

    @bot.app.event("app_mention")
    async def mention(event, client) -> None:
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text="Deploy?", blocks=BLOCKS)

    @bot.app.event("message")
    async def message() -> None: ...

    @bot.app.action("yes")
    async def yes(ack, body, respond) -> None:
        clicks.append(body)
        await ack()
        await respond(text="Deployed", blocks=[], replace_original=True)

    await bot.connect()
    asked = await hands.write("ada", "general", "@askback deploy 1 < 2 & 3, please")
    await services.workspace.until(lambda w: any(m.bot for m in w.messages.values()))

    state = await hands.state()
    first, card = state["messages"]
    assert first["text"] == "<@U0LOCALBOT> deploy 1 &lt; 2 &amp; 3, please"
    assert (card["thread_ts"], card["bot"], card["text"]) == (asked, True, "Deploy?")

    done = await hands.post(
        "/people/act", person="ben", channel="general", ts=card["ts"], block_id="a", action_id="yes"
    )
    assert done["ok"], done
    (click,) = clicks
    assert click["user"]["id"] == "U0LOCALBEN"
    assert click["actions"][0]["value"] == "1"
    card = (await hands.state())["messages"][1]
    assert (card["text"], card["blocks"], card["edited"]) == ("Deployed", [], False)
    interaction = next(i for i in (await hands.state())["interactions"] if i["id"] == done["interaction"])
    assert (interaction["kind"], interaction["acked"], interaction["error"]) == ("block_actions", True, None)
