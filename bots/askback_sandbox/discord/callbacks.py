"""The answers to interactions: the initial response within three seconds, then messages for fifteen minutes."""

from dataclasses import replace

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, copied

from . import limits
from .bodies import Wording, read_wording
from .guild import Guild
from .messages import Writer
from .modal_rules import check_modal
from .objects import post_object
from .posting import Posting
from .refusals import DiscordRefusalError, Fault, Found, Path
from .replies import NOTHING, Reply, Request, check_not_archived, check_not_locked
from .values import Done, Flag, Post, PostType

MESSAGE, DEFER, DEFER_UPDATE, UPDATE, MODAL = 4, 5, 6, 7, 9
_ALLOWED = {"component": (4, 5, 6, 7, 9, 12), "modal_submit": (4, 5, 6, 7, 12)}
_CALLBACK_KEYS = {"type", "data"}


class Callbacks:
    """The operations that answer an interaction."""

    def __init__(self, guild: Guild, posting: Posting, writer: Writer) -> None:
        self._guild = guild
        self._posting = posting
        self._writer = writer

    # the initial response

    def respond(self, request: Request) -> Reply:
        """create_interaction_response"""
        done = self._fresh(request)
        kind = self._checked_type(done, request.body)
        data = request.body.get("data")
        body = as_object(data)
        if data is not None and not isinstance(data, dict):
            fault = Fault(("data",), "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType")
            raise DiscordRefusalError(50035, faults=[fault])
        post: Post | None = None
        modal: JsonObject | None = None
        if kind == MODAL:
            modal = self._modal(data)
        elif kind == UPDATE:
            post = self._updated(done, body, request.files)
        elif kind == MESSAGE:
            post = self._answer(done, read_wording("create_interaction_response", body, path=("data",)), request.files)
        elif kind == DEFER:
            self._checked_defer(body)
            loading = Flag.LOADING | ((_flags(body) or 0) & Flag.EPHEMERAL)
            post = self._answer(done, Wording(flags=int(loading)), ())
        request.approve()
        if self._guild.faults.take("swallow", request.operation):
            return self._reply(request, done, kind, post)
        now = self._guild.clock.time()
        original = post.id if post else done.message
        acked = replace(done, acked=True, ack_ms=(now - done.issued) * 1000, callback=kind, original=original)
        self._guild.update_done(acked)
        if modal is not None:
            self._guild.open_modal(done.person, modal, done)
        elif post is not None:
            (self._posting.change if kind == UPDATE else self._posting.post)(post)
        return self._reply(request, done, kind, post)

    def _fresh(self, request: Request) -> Done:
        done = self._guild.done_by_id(request.parts["interaction_id"])
        if done is None or done.token != request.parts["interaction_token"]:
            raise DiscordRefusalError(10062)
        if done.acked:
            raise DiscordRefusalError(40060)
        if done.acked is False or self._guild.clock.time() - done.issued > limits.RESPONSE_SECONDS:
            raise DiscordRefusalError(10062)
        return done

    @staticmethod
    def _checked_type(done: Done, body: JsonObject) -> int:
        found = Found()
        for name in body:
            if name not in _CALLBACK_KEYS:
                found.add((name,), "UNKNOWN_PROPERTY", f"There is no field {name!r} here")
        kind = body.get("type")
        choices = [number for number in _ALLOWED[done.kind] if done.message or number not in (DEFER_UPDATE, UPDATE)]
        if not isinstance(kind, int) or isinstance(kind, bool) or kind not in choices:
            text = f"Value must be one of {{{', '.join(str(choice) for choice in choices)}}}."
            found.add(("type",), "BASE_TYPE_CHOICES", text)
        found.check()
        return kind if isinstance(kind, int) else 0

    @staticmethod
    def _modal(data: JsonValue) -> JsonObject:
        found = Found()
        check_modal(data, ("data",), found)
        found.check()
        return copied(as_object(data))

    @staticmethod
    def _checked_defer(body: JsonObject) -> None:
        """Check the fields of a deferred response; only its EPHEMERAL flag has an effect."""
        found = Found()
        path: Path = ("data",)
        for name in body:
            if name not in ("flags", "tts", "content", "embeds", "components", "allowed_mentions"):
                found.add((*path, name), "UNKNOWN_PROPERTY", f"There is no field {name!r} here")
        found.check()

    def _updated(self, done: Done, body: JsonObject, files: tuple[JsonObject, ...]) -> Post:
        post = self._guild.posts.get(done.message or "")
        if post is None:
            raise DiscordRefusalError(10008)
        check_not_archived(self._guild.places[post.channel])
        wording = read_wording("create_interaction_response", body, old=post, path=("data",))
        return self._writer.newer(post, wording, files=files)

    def _answer(self, done: Done, wording: Wording, files: tuple[JsonObject, ...]) -> Post:
        place = self._guild.places.get(done.channel)
        if place is None:
            raise DiscordRefusalError(10003)
        check_not_locked(self._guild, place)
        post = self._writer.new(place, wording, files=files, by_interaction=True)
        flags = (wording.flags or 0) & (Flag.EPHEMERAL | Flag.LOADING)
        return replace(
            post,
            type=PostType.REPLY if done.message else PostType.DEFAULT,
            reference=done.message,
            flags=post.flags | int(flags),
            ephemeral_to=done.person if flags & Flag.EPHEMERAL else None,
            interaction=done.id,
        )

    def _reply(self, request: Request, done: Done, kind: int, post: Post | None) -> Reply:
        if request.query.get("with_response", "").lower() not in ("1", "true"):
            return NOTHING
        told: JsonObject = {"id": done.id, "type": 5 if done.kind == "modal_submit" else 3}
        answer: JsonObject = {"interaction": told}
        if post is not None:
            told["response_message_id"] = post.id
            told["response_message_loading"] = bool(post.flags & Flag.LOADING)
            told["response_message_ephemeral"] = bool(post.flags & Flag.EPHEMERAL)
        elif done.message is not None and kind == DEFER_UPDATE:
            told["response_message_id"] = done.message
        if post is not None and kind != DEFER:
            answer["resource"] = {"type": kind, "message": post_object(self._guild, post)}
        return Reply(answer)

    # later messages

    def follow_up(self, request: Request) -> Reply:
        """execute_webhook: another message, or the content of a deferred one."""
        done = self._answered(request)
        wording = read_wording("execute_webhook", request.body)
        request.approve()
        deferred = self._guild.posts.get(done.original or "") if done.callback == DEFER else None
        if deferred is not None and deferred.flags & Flag.LOADING:
            # As edit-original does; the deferral decided about ephemeral [dd create-followup-message].
            newer = self._writer.newer(deferred, wording, files=request.files)
            return Reply(post_object(self._guild, self._posting.change(replace(newer, edited=None))))
        post = self._answer(done, wording, request.files)
        if not self._guild.faults.take("swallow", "execute_webhook"):
            self._posting.post(post)
        return Reply(post_object(self._guild, post))

    def get(self, request: Request) -> Reply:
        """get_original_webhook_message, get_webhook_message"""
        return Reply(post_object(self._guild, self._own(request)))

    def update(self, request: Request) -> Reply:
        """update_original_webhook_message, update_webhook_message"""
        post = self._own(request)
        check_not_archived(self._guild.places[post.channel])
        wording = read_wording("update_original_webhook_message", request.body, old=post)
        request.approve()
        newer = self._writer.newer(post, wording, files=request.files)
        if post.flags & Flag.LOADING:
            newer = replace(newer, edited=None)
        if not self._guild.faults.take("swallow", request.operation):
            self._posting.change(newer)
        return Reply(post_object(self._guild, newer))

    def delete(self, request: Request) -> Reply:
        """delete_original_webhook_message, delete_webhook_message"""
        post = self._own(request)
        check_not_archived(self._guild.places[post.channel])
        self._posting.remove(post)
        return NOTHING

    def _answered(self, request: Request) -> Done:
        if request.parts["webhook_id"] != self._guild.app.id:
            raise DiscordRefusalError(10015)
        done = self._guild.done_by_token(request.parts["webhook_token"])
        # The token has a webhook only after the initial response.
        if done is None or not done.acked:
            raise DiscordRefusalError(10015)
        if self._guild.clock.time() - done.issued > limits.TOKEN_SECONDS:
            raise DiscordRefusalError(50027)
        return done

    def _own(self, request: Request) -> Post:
        done = self._answered(request)
        message_id = request.parts.get("message_id", "@original")
        if message_id == "@original":
            if done.callback == MODAL:
                raise DiscordRefusalError(10008)
            message_id = done.original or ""
        post = self._guild.posts.get(message_id)
        if post is None or (post.interaction != done.id and message_id not in (done.original, done.message)):
            raise DiscordRefusalError(10008)
        return post


def _flags(body: JsonObject) -> int | None:
    flags = body.get("flags")
    return flags if isinstance(flags, int) and not isinstance(flags, bool) else None
