"""Names, with the real libraries and the local platforms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from askback import Form, Option, Question, Who, open_host
from askback.domain.identity import Place
from askback.errors import AskbackError
from askback.ports.directory import UnknownName
from askback.ports.installed_bots import get_bot
from askback.ports.platform import DeliveryError, RetryableError
from askback_sandbox.discord.values import Member, Neighbour, Permission, Role
from askback_sandbox.discord.values import Place as DiscordPlace
from askback_sandbox.services import Services
from askback_sandbox.slack.values import Channel, Person, UserGroup
from support.clocks import SharedClock


@pytest.fixture
async def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Services]:
    monkeypatch.chdir(tmp_path)
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        yield services


async def place(platform: str, name: str) -> tuple[str, Place]:
    async with get_bot(platform).open_directory() as directory:
        found = await directory.find_place(name)
        return found.name, found.place


async def who(platform: str, name: str, at: Place | None = None) -> tuple[str, str, int | None]:
    """Return the name, the id, and the size of a group."""
    here = at or Place(platform=platform, tenant="1100000000000000001", channel="1100000000000000302")
    async with get_bot(platform).open_directory() as directory:
        found = await directory.find_addressee(name, here)
        return found.name, found.group or (found.person.id if found.person else ""), found.count


async def wrong(platform: str, name: str) -> str:
    """Return the error for a place's name, as its author sees it."""
    with pytest.raises(UnknownName) as caught:
        await place(platform, name)
    return str(caught.value)


# Slack


@pytest.mark.parametrize("name", ["#deploys", "deploys", "#Deploys", "C0DEPLOYS", "<#C0DEPLOYS|deploys>"])
async def test_a_channel_of_slack(services: Services, name: str) -> None:
    del services
    assert await place("slack", name) == ("#deploys", Place(platform="slack", tenant="T0LOCAL", channel="C0DEPLOYS"))


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("C0DEPLOYS:1764240000.123456", "1764240000.123456"),
        ("https://local.slack.com/archives/C0DEPLOYS/p1764240000123456", "1764240000.123456"),
        ("<https://local.slack.com/archives/C0DEPLOYS/p1764240000123456>", "1764240000.123456"),
        (
            "https://local.slack.com/archives/C0DEPLOYS/p1764240099000100?thread_ts=1764240000.123456&cid=C0DEPLOYS",
            "1764240000.123456",
        ),
    ],
)
async def test_a_thread_of_slack(services: Services, name: str, thread: str) -> None:
    del services
    found = Place(platform="slack", tenant="T0LOCAL", channel="C0DEPLOYS", thread=thread)
    assert await place("slack", name) == ("#deploys", found)


async def test_a_link_of_slack_that_leads_nowhere_is_refused(services: Services) -> None:
    del services
    assert "C0NOTHERE" in await wrong("slack", "https://local.slack.com/archives/C0NOTHERE/p1764240000123456")
    damaged = "https://local.slack.com/archives/C0DEPLOYS/p1764240000123456?thread_ts=later"
    assert "is no timestamp of a thread" in await wrong("slack", damaged)


async def test_a_channel_on_a_later_page_is_found(services: Services) -> None:
    services.workspace.largest_page = 1
    assert (await place("slack", "#deploys"))[1].channel == "C0DEPLOYS"
    assert (await place("slack", "@cy"))[1].channel == "D0LOCALCY"
    pages = [call for call in services.workspace.log if call.method == "conversations.list"]
    assert len(pages) > 1
    assert all(call.arguments["exclude_archived"] == "true" for call in pages)


async def test_archived_and_unseen_channels_are_not_there(services: Services) -> None:
    services.workspace.put_channel(Channel(id="C0OLDONES", name="old-deploys", archived=True))
    said = await wrong("slack", "#old-deploys")
    assert said.startswith("The bot sees no channel '#old-deploys'. Did you mean #deploys?")
    assert "The bot cannot see archived channels" in said
    assert "invite it there" in await wrong("slack", "#private-room")
    assert "archived" in await wrong("slack", "C0OLDONES")
    assert "The bot sees no channel 'C0NOTHERE'" in await wrong("slack", "C0NOTHERE")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "@nogroup",
            "sees no person or user group '@nogroup'. The bot looks among the people and the enabled user groups",
        ),
        ("U0NOBODYXX", "sees no person 'U0NOBODYXX'. Nobody in this workspace has that id: copy it again"),
        (
            "S0NOGROUPX",
            "sees no user group 'S0NOGROUPX'. No user group of this workspace has that id: give the group's",
        ),
    ],
)
async def test_an_addressee_that_slack_does_not_have_comes_with_a_next_step(
    services: Services, name: str, said: str
) -> None:
    del services
    with pytest.raises(UnknownName) as caught:
        await who("slack", name)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["@ada", "@Ada Lovelace", "U0LOCALADA", "<@U0LOCALADA>"])
async def test_a_person_of_slack(services: Services, name: str) -> None:
    del services
    assert await who("slack", name) == ("@ada", "U0LOCALADA", None)
    assert (await place("slack", name))[1].channel == "D0LOCALADA"


async def test_a_direct_message_is_somebodys_also_by_its_own_id(services: Services) -> None:
    for platform in ("slack", "discord"):
        async with get_bot(platform).open_directory() as directory:
            by_name = await directory.find_place("@ada")
            assert by_name.person is not None
            assert await directory.find_place(by_name.place.channel) == by_name
    with pytest.raises(UnknownName, match="The bot sees no direct message 'D0NOBODYS'"):
        await place("slack", "D0NOBODYS")


@pytest.mark.parametrize("name", ["@release", "release", "S0LOCALREL", "<!subteam^S0LOCALREL|@release>"])
async def test_a_group_of_slack_is_counted(services: Services, name: str) -> None:
    del services
    assert (await who("slack", name))[1:] == ("S0LOCALREL", 1)


async def test_of_two_who_are_called_alike_none_is_taken(services: Services) -> None:
    services.workspace.add_person(Person("U0LOCALADB", "mallory", "ada"))
    with pytest.raises(UnknownName, match=r"person called '@ada': use U0LOCALADA \(@ada\) or U0LOCALADB"):
        await who("slack", "@ada")


async def test_who_has_left_or_is_a_bot_decides_nothing(services: Services) -> None:
    services.workspace.add_person(Person("U0LOCALOLD", "olga", "Olga", deleted=True))
    services.workspace.add_person(Person("USLACKBOT", "slackbot", "Slackbot"))
    for name in ("@olga", "@slackbot"):
        with pytest.raises(UnknownName):
            await who("slack", name)
    for gone in ("U0LOCALOLD", "U0LOCALBOT", "USLACKBOT"):
        with pytest.raises(UnknownName, match="cannot decide: this is a bot, or a person who has left the workspace"):
            await who("slack", gone)


@pytest.mark.parametrize(
    ("scope", "asked"),
    [
        ("channels:read", "#deploys"),
        ("users:read", "@ada"),
        ("im:write", "@ada"),
        ("usergroups:read", "@release"),
    ],
)
async def test_a_scope_that_is_missing_is_named(services: Services, scope: str, asked: str) -> None:
    bot = services.workspace.bot
    services.workspace.bot = replace(bot, scopes=tuple(one for one in bot.scopes if one != scope))
    with pytest.raises(AskbackError, match=f"lacks a permission, the scope {scope}"):
        await (who if scope == "usergroups:read" else place)("slack", asked)


async def test_without_the_scope_for_private_channels_public_ones_are_found(services: Services) -> None:
    bot = services.workspace.bot
    services.workspace.bot = replace(bot, scopes=tuple(one for one in bot.scopes if one != "groups:read"))
    assert (await place("slack", "#deploys"))[0] == "#deploys"
    assert "lacks the scope groups:read" in await wrong("slack", "#private-room")


async def test_where_slack_is_asked_too_often_it_is_waited_for(services: Services) -> None:
    services.workspace.faults.ratelimit("conversations.list", retry_after=1)
    assert (await place("slack", "#deploys"))[0] == "#deploys"
    services.workspace.faults.fail("conversations.list", "internal_error")
    with pytest.raises(RetryableError):
        await place("slack", "#deploys")


@pytest.mark.parametrize("name", ["@elders", "Elders", "@ELDERS"])
async def test_a_group_that_is_disabled_is_nobody_also_where_a_person_took_its_name(
    services: Services, name: str
) -> None:
    services.workspace.put_group(UserGroup(id="S0LOCALOLD", handle="elders", name="The elders", enabled=False))
    services.workspace.add_person(Person("U0LOCALEVE", "elders", "The elders"))
    with pytest.raises(UnknownName, match="is disabled: enable it, or give people's ids"):
        await who("slack", name)
    assert (await who("slack", "U0LOCALEVE"))[1] == "U0LOCALEVE"


# Discord

VIEW = int(Permission.VIEW_CHANNEL)
DEPLOYS = Place(platform="discord", tenant="1100000000000000001", channel="1100000000000000302")


@pytest.mark.parametrize("name", ["#deploys", "Deploys", "Local/#deploys", DEPLOYS.channel, f"<#{DEPLOYS.channel}>"])
async def test_a_channel_of_discord(services: Services, name: str) -> None:
    del services
    assert await place("discord", name) == ("#deploys", DEPLOYS)


async def test_a_thread_of_discord_is_named_by_its_id(services: Services) -> None:
    thread = DiscordPlace(id="1100000000000000399", name="release", kind="thread", parent=DEPLOYS.channel)
    services.discord.guild.put_place(thread)
    assert (await place("discord", thread.id))[1] == DEPLOYS.evolve(thread=thread.id)


async def test_on_several_servers_the_server_has_to_be_named(services: Services) -> None:
    other = Neighbour(
        id="1200000000000000001", name="Other", channels=(DiscordPlace(id="1200000000000000302", name="deploys"),)
    )
    services.discord.guild.neighbours = (other,)
    assert "use Local/#deploys or Other/#deploys." in await wrong("discord", "#deploys")
    assert (await place("discord", "Other/#deploys"))[1].tenant == other.id
    assert "The bot sees no server 'Othr'. Did you mean Other?" in await wrong("discord", "Othr/#deploys")
    assert (await place("discord", "#general"))[1].tenant == DEPLOYS.tenant


async def test_a_place_that_discord_does_not_have_comes_with_the_servers_and_a_next_step(services: Services) -> None:
    invite = "with the address that askback discord --invite prints."
    assert await wrong("discord", "#nowhere") == (
        "The bot sees no channel '#nowhere'. The bot looks on the server Local: check the name there, or add the bot "
        f"to another one {invite}"
    )
    services.discord.guild.neighbours = tuple(
        Neighbour(id=f"120000000000000000{number}", name=f"Other {number}") for number in range(6)
    )
    assert await wrong("discord", "Nope/#deploys") == (
        "The bot sees no server 'Nope'. The bot looks on the servers Local, Other 0, Other 1, Other 2 and Other 3 and "
        f"2 more: name one of them, or add the bot to another one {invite}"
    )
    assert (await wrong("discord", "1100000000000000999")).endswith(
        f"copy the id again (“Copy Channel ID”), or add the bot to the channel's server {invite}"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("@zzz", "The bot looks among the people and roles of the server: check the name there, or give the id."),
        ("1100000000000000777", "Nobody on a server of the bot has that id: copy it again (“Copy User ID”), or"),
        ("<@&1100000000000000777>", "No server of the bot has that role: copy the id again (“Copy Role ID”)."),
    ],
)
async def test_an_addressee_that_discord_does_not_have_comes_with_a_next_step(
    services: Services, name: str, said: str
) -> None:
    del services
    with pytest.raises(UnknownName) as caught:
        await who("discord", name)
    assert said in str(caught.value)


async def test_a_channel_that_is_not_there_was_named_wrongly_also_by_its_id(services: Services) -> None:
    del services
    with pytest.raises(UnknownName, match="The bot sees no channel '1100000000000000999'"):
        await place("discord", "1100000000000000999")


async def test_a_channel_that_the_bot_may_not_see_asks_for_the_permission(services: Services) -> None:
    services.discord.guild.put_place(replace(services.discord.guild.places[DEPLOYS.channel], denied=VIEW))
    with pytest.raises(DeliveryError, match="give me the permission View Channel there"):
        await place("discord", DEPLOYS.channel)


@pytest.mark.parametrize("name", ["#ideas", "1100000000000000388"])
async def test_a_forum_is_no_channel_to_ask_in_and_it_is_said(services: Services, name: str) -> None:
    services.discord.guild.put_place(DiscordPlace(id="1100000000000000388", name="ideas", kind="forum"))
    with pytest.raises(UnknownName, match="The bot cannot ask in #ideas, because it is not a text channel"):
        await place("discord", name)


async def test_of_a_forum_and_a_channel_of_one_name_the_channel_is_meant(services: Services) -> None:
    services.discord.guild.put_place(DiscordPlace(id="1100000000000000388", name="deploys", kind="forum"))
    assert await place("discord", "#deploys") == ("#deploys", DEPLOYS)


async def test_a_link_of_discord_leads_to_a_thread_or_a_channel(services: Services) -> None:
    thread = DiscordPlace(id="1100000000000000399", name="release", kind="thread", parent=DEPLOYS.channel)
    services.discord.guild.put_place(thread)
    server = f"https://discord.com/channels/{DEPLOYS.tenant}"
    inside = DEPLOYS.evolve(thread=thread.id)
    for link in (
        f"{server}/{thread.id}",
        f"{server}/{thread.id}/1100000000000000999",
        f"{server}/{DEPLOYS.channel}/{thread.id}",
    ):
        assert (await place("discord", link))[1] == inside
    assert (await place("discord", f"{server}/{DEPLOYS.channel}"))[1] == DEPLOYS
    assert "has no thread: start one" in await wrong("discord", f"{server}/{DEPLOYS.channel}/1100000000000000999")


async def test_a_thread_that_is_locked_says_which_permission_it_takes(services: Services) -> None:
    thread = DiscordPlace(
        id="1100000000000000399", name="old", kind="thread", parent=DEPLOYS.channel, archived=True, locked=True
    )
    services.discord.guild.put_place(thread)
    _, at = await place("discord", thread.id)
    async with open_host([get_bot("discord")], agent=False) as host:
        option = Option(value="yes", label="Yes")
        form = Form(
            questions=(Question(id="go", prompt="Go?", options=(option, option.evolve(value="no", label="No"))),)
        )
        outcome = await host.manager.ask(form, to=at, who=Who(anyone=True), timeout=30)
    assert outcome.status == "undeliverable"
    assert "give me the permission Manage Threads" in (outcome.reason or "")


async def test_where_discord_wants_a_long_wait_a_look_up_does_not_hang(services: Services) -> None:
    services.discord.guild.faults.ratelimit("list_guild_roles", retry_after=90)
    with pytest.raises(RetryableError):
        await who("discord", "@release")


@pytest.mark.parametrize(
    "name", ["@ada", "@Ada Lovelace", "1100000000000000201", "@1100000000000000201", "<@1100000000000000201>"]
)
async def test_a_person_of_discord(services: Services, name: str) -> None:
    del services
    assert await who("discord", name) == ("@ada", "1100000000000000201", None)


@pytest.mark.parametrize(
    "name", ["@release", "release", "1100000000000000010", "@&1100000000000000010", "<@&1100000000000000010>"]
)
async def test_a_role_of_discord_is_counted(services: Services, name: str) -> None:
    del services
    assert await who("discord", name) == ("@release", "1100000000000000010", 1)


async def test_where_discord_does_not_count_a_role_nobody_is_refused(services: Services) -> None:
    services.discord.guild.faults.fail("guild_role_member_counts", 403, code=50013)
    assert await who("discord", "@release") == ("@release", "1100000000000000010", None)


async def test_a_user_name_counts_before_what_others_call_themselves(services: Services) -> None:
    guild = services.discord.guild
    guild.add_person(Member("1100000000000000210", "mallory", "ada"))
    assert (await who("discord", "@ada"))[1] == "1100000000000000201"
    guild.add_person(Member("1100000000000000211", "eve", "ada b"))
    guild.add_person(Member("1100000000000000212", "eva", "Ada B"))
    with pytest.raises(UnknownName, match="more than one person called '@ada b'"):
        await who("discord", "@ada b")


async def test_the_role_of_who_boosts_the_server_is_theirs_and_that_of_a_bot_is_not(services: Services) -> None:
    guild = services.discord.guild
    guild.roles["1100000000000000018"] = Role("1100000000000000018", "Booster", boosts=True)
    assert (await who("discord", "@booster"))[1] == "1100000000000000018"
    with pytest.raises(UnknownName):
        await who("discord", guild.app.role)


@pytest.mark.parametrize("name", ["@everyone", "here"])
async def test_for_everybody_there_is_a_word_of_our_own(services: Services, name: str) -> None:
    del services
    with pytest.raises(UnknownName, match="use anyone"):
        await who("discord", name)


async def test_of_two_roles_of_one_name_none_is_taken(services: Services) -> None:
    guild = services.discord.guild
    guild.roles["1100000000000000019"] = Role("1100000000000000019", "Release", int(Permission.VIEW_CHANNEL))
    with pytest.raises(UnknownName, match="more than one role '@release'"):
        await who("discord", "@release")


async def test_roles_cannot_be_asked_in_a_direct_message(services: Services) -> None:
    del services
    _, direct = await place("discord", "@ada")
    assert direct == Place(platform="discord", channel="1100000000000000401")
    with pytest.raises(UnknownName, match="Discord does not send roles in direct messages"):
        await who("discord", "@release", direct)
    assert (await who("discord", "@ben", direct))[0] == "@ben"


async def test_nobody_is_asked_by_the_name_of_a_bot(services: Services) -> None:
    del services
    for name in ("@askback", "1100000000000000100"):
        with pytest.raises(UnknownName) as caught:
            await who("discord", name)
        assert "Did you mean @askback" not in str(caught.value)
