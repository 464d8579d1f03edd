"""The methods that only read: who am I, who is that, what was said."""

from .json_values import JsonList, JsonObject
from .places import joined_channel, known_channel
from .slack_arguments import Arguments
from .slack_checks import SlackRefusalError
from .slack_payloads import message_object
from .values import Channel, Message
from .workspace import Workspace

PAGE = 100
LARGEST_PAGE = 1_000


class ReadingMethods:
    """Methods that change nothing."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

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

    def user_info(self, arguments: Arguments) -> JsonObject:
        """users.info"""
        user_id = arguments.need("user")
        bot = self._workspace.bot
        person = self._workspace.people.get(user_id)
        if person is None and user_id != bot.id:
            raise SlackRefusalError("user_not_found")
        name = person.name if person else bot.name
        real_name = person.real_name if person else bot.name
        return {
            "user": {
                "id": user_id,
                "team_id": self._workspace.team.id,
                "name": name,
                "real_name": real_name,
                "deleted": False,
                "is_bot": person is None,
                "tz": "Etc/UTC",
                "profile": {"real_name": real_name, "display_name": name},
            }
        }

    def _channel_object(self, channel: Channel) -> JsonObject:
        if channel.kind == "dm":
            return {"id": channel.id, "is_im": True, "user": channel.person, "is_archived": channel.archived}
        return {
            "id": channel.id,
            "name": channel.name,
            "is_channel": not channel.private,
            "is_group": channel.private,
            "is_im": False,
            "is_private": channel.private,
            "is_archived": channel.archived,
            "is_member": channel.bot_in,
        }

    def conversation_info(self, arguments: Arguments) -> JsonObject:
        """conversations.info"""
        return {"channel": self._channel_object(known_channel(self._workspace, arguments))}

    def conversation_open(self, arguments: Arguments) -> JsonObject:
        """conversations.open"""
        if "channel" in arguments:
            return {"channel": self._channel_object(known_channel(self._workspace, arguments))}
        channel = self._workspace.dm(arguments.need("users"))
        if channel is None:
            raise SlackRefusalError("user_not_found")
        shown: JsonObject = {"id": channel.id}
        if arguments.flag("return_im"):
            shown = self._channel_object(channel)
        return {"channel": shown}

    def replies(self, arguments: Arguments) -> JsonObject:
        """conversations.replies"""
        channel = joined_channel(self._workspace, arguments)
        ts = arguments.need("ts")
        asked = self._workspace.message(channel.id, ts)
        if asked is None or asked.ephemeral_to is not None:
            raise SlackRefusalError("thread_not_found")
        thread = self._workspace.thread(channel.id, asked.root) if asked.ts == asked.root else [asked]
        head, rest = thread[:1], self._within(thread[1:], arguments)
        return self._page([*head, *rest], arguments, thread)

    def history(self, arguments: Arguments) -> JsonObject:
        """conversations.history: newest first, without the replies in threads"""
        channel = joined_channel(self._workspace, arguments)
        found = [
            message
            for message in self._workspace.messages.values()
            if message.channel == channel.id and message.ephemeral_to is None and message.ts == message.root
        ]
        newest_first = sorted(found, key=lambda message: message.ts, reverse=True)
        return self._page(self._within(newest_first, arguments), arguments, None)

    @staticmethod
    def _within(messages: list[Message], arguments: Arguments) -> list[Message]:
        oldest, latest = arguments.text("oldest"), arguments.text("latest")
        inclusive = arguments.flag("inclusive")
        kept = messages
        if oldest:
            kept = [m for m in kept if m.ts > oldest or (inclusive and m.ts == oldest)]
        if latest:
            kept = [m for m in kept if m.ts < latest or (inclusive and m.ts == latest)]
        return kept

    def _page(self, messages: list[Message], arguments: Arguments, thread: list[Message] | None) -> JsonObject:
        size = min(arguments.number("limit", PAGE) or PAGE, LARGEST_PAGE)
        cursor = arguments.text("cursor") or "0"
        if not cursor.isdigit():
            raise SlackRefusalError("invalid_cursor")
        start = int(cursor)
        with_metadata = arguments.flag("include_all_metadata")
        shown: JsonList = []
        for message in messages[start : start + size]:
            entry = message_object(self._workspace, message, with_metadata=with_metadata)
            around = thread if thread is not None else self._workspace.thread(message.channel, message.root)
            if message.ts == message.root and len(around) > 1:
                entry["thread_ts"] = message.ts
                entry["reply_count"] = len(around) - 1
                entry["latest_reply"] = around[-1].ts
            shown.append(entry)
        more = start + size < len(messages)
        return {
            "messages": shown,
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + size) if more else ""},
        }
