"""The methods that only read: the bot, users, user groups and messages."""

import base64

from askback_sandbox.json_values import JsonList, JsonObject, json_list

from . import limits
from .arguments import Arguments
from .checks import SlackRefusalError
from .directory import DirectoryMethods
from .payloads import message_object
from .places import joined_channel
from .values import Message, UserGroup
from .workspace import Workspace


class ReadingMethods:
    """Methods that change nothing."""

    def __init__(self, workspace: Workspace, directory: DirectoryMethods) -> None:
        self._workspace = workspace
        self._directory = directory

    def auth_test(self, arguments: Arguments) -> JsonObject:
        """auth.test"""
        del arguments
        team, bot = self._workspace.team, self._workspace.bot
        return {
            "url": f"https://{team.domain}.slack.com/",
            "team": team.name,
            "user": bot.name,
            "team_id": team.id,
            "user_id": bot.id,
            "bot_id": bot.bot_id,
            "is_enterprise_install": False,
        }

    def bot_info(self, arguments: Arguments) -> JsonObject:
        """bots.info"""
        bot = self._workspace.bot
        if arguments.need("bot") != bot.bot_id:
            raise SlackRefusalError("bot_not_found")
        return {"bot": {"id": bot.bot_id, "app_id": bot.app_id, "name": bot.name, "user_id": bot.id, "deleted": False}}

    def user_info(self, arguments: Arguments) -> JsonObject:
        """users.info"""
        user_id = arguments.need("user")
        person = self._workspace.people.get(user_id)
        if person is None and user_id != self._workspace.bot.id:
            raise SlackRefusalError("user_not_found")
        user = self._directory.person_object(user_id, person)
        if arguments.flag("include_locale"):
            user["locale"] = person.locale if person else "en-US"
        return {"user": user}

    def replies(self, arguments: Arguments) -> JsonObject:
        """conversations.replies: the root of the thread, then the replies, oldest first"""
        channel = joined_channel(self._workspace, arguments)
        asked = self._workspace.message(channel.id, arguments.need("ts"))
        if asked is None or asked.ephemeral_to is not None:
            raise SlackRefusalError("thread_not_found")
        thread = self._workspace.thread(channel.id, asked.root) if asked.ts == asked.root else [asked]
        head, rest = thread[:1], self._within(thread[1:], arguments)
        return self._page([*head, *rest], arguments, thread, limits.REPLIES_PAGE)

    def history(self, arguments: Arguments) -> JsonObject:
        """conversations.history: newest first, without the replies in threads"""
        channel = joined_channel(self._workspace, arguments)
        found = [
            message
            for message in self._workspace.messages.values()
            if message.channel == channel.id and message.ephemeral_to is None and message.ts == message.root
        ]
        newest_first = sorted(found, key=lambda message: message.ts, reverse=True)
        return self._page(self._within(newest_first, arguments), arguments, None, limits.HISTORY_PAGE)

    def group_users(self, arguments: Arguments) -> JsonObject:
        """usergroups.users.list"""
        group = self._workspace.groups.get(arguments.need("usergroup"))
        if group is None or not (group.enabled or arguments.flag("include_disabled")):
            raise SlackRefusalError("no_such_subteam")
        return {"users": [*group.users]}

    def groups(self, arguments: Arguments) -> JsonObject:
        """usergroups.list"""
        with_users, disabled = arguments.flag("include_users"), arguments.flag("include_disabled")
        shown = [group for group in self._workspace.groups.values() if group.enabled or disabled]
        return {"usergroups": json_list([self._group_object(group, with_users=with_users) for group in shown])}

    def _group_object(self, group: UserGroup, *, with_users: bool) -> JsonObject:
        shown: JsonObject = {
            "id": group.id,
            "team_id": self._workspace.team.id,
            "is_usergroup": True,
            "name": group.name,
            "description": "",
            "handle": group.handle,
            "is_external": False,
            "date_create": 1_446_598_059,
            "date_update": 1_446_670_362,
            "date_delete": 0 if group.enabled else 1_446_670_362,
            "auto_type": None,
            "created_by": "U0LOCALADA",
            "updated_by": "U0LOCALADA",
            "deleted_by": None if group.enabled else "U0LOCALADA",
            "prefs": {"channels": [], "groups": []},
            "user_count": len(group.users),
        }
        return {**shown, "users": [*group.users]} if with_users else shown

    @staticmethod
    def _within(messages: list[Message], arguments: Arguments) -> list[Message]:
        oldest, latest = _moment(arguments, "oldest"), _moment(arguments, "latest")
        inclusive = arguments.flag("inclusive")
        kept = messages
        if oldest is not None:
            kept = [m for m in kept if float(m.ts) > oldest or (inclusive and float(m.ts) == oldest)]
        if latest is not None:
            kept = [m for m in kept if float(m.ts) < latest or (inclusive and float(m.ts) == latest)]
        return kept

    def _page(
        self, messages: list[Message], arguments: Arguments, thread: list[Message] | None, size: int
    ) -> JsonObject:
        size, start = _limit(arguments, size), _start(messages, arguments)
        with_metadata = arguments.flag("include_all_metadata")
        shown: JsonList = []
        for message in messages[start : start + size]:
            entry = message_object(self._workspace, message, with_metadata=with_metadata)
            around = thread if thread is not None else self._workspace.thread(message.channel, message.root)
            if message.ts == message.root and len(around) > 1:
                entry |= _about_replies(around)
            shown.append(entry)
        more = start + size < len(messages)
        answer: JsonObject = {"messages": shown, "has_more": more}
        if more:
            answer["response_metadata"] = {"next_cursor": _cursor(messages[start + size])}
        return answer


def _about_replies(thread: list[Message]) -> JsonObject:
    """Return the fields in which the root of a thread describes the replies."""
    people: JsonList = [*dict.fromkeys(reply.user for reply in thread[1:])]
    return {
        "thread_ts": thread[0].ts,
        "reply_count": len(thread) - 1,
        "reply_users_count": len(people),
        "reply_users": people,
        "latest_reply": thread[-1].ts,
        "is_locked": False,
        "subscribed": False,
    }


def _moment(arguments: Arguments, name: str) -> float | None:
    text = arguments.text(name)
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise SlackRefusalError(f"invalid_ts_{name}") from None


def _limit(arguments: Arguments, default: int) -> int:
    text = arguments.text("limit")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= limits.LARGEST_PAGE):
        raise SlackRefusalError("invalid_limit")
    return int(text)


def _cursor(message: Message) -> str:
    """Return the cursor of the next page; a message that arrives meanwhile does not shift it."""
    return base64.b64encode(f"next_ts:{message.ts}".encode()).decode()


def _start(messages: list[Message], arguments: Arguments) -> int:
    cursor = arguments.text("cursor")
    if not cursor:
        return 0
    try:
        word, _, ts = base64.b64decode(cursor, validate=True).decode().partition(":")
    except ValueError:
        raise SlackRefusalError("invalid_cursor") from None
    found = [index for index, message in enumerate(messages) if message.ts == ts]
    if word != "next_ts" or not found:
        raise SlackRefusalError("invalid_cursor")
    return found[0]
