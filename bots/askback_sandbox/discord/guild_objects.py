"""The guild, the bot and its application, as Discord sends them."""

from askback_sandbox.json_values import JsonObject, json_list

from .guild import Guild
from .objects import JOINED, channel_object, member_object, role_object, sees, user_object
from .values import Intent, Member

# A privileged intent, and the flag of an application that has it switched on [dd resources/application].
_INTENT_FLAGS = {
    Intent.GUILD_PRESENCES: 1 << 12,
    Intent.GUILD_MEMBERS: 1 << 14,
    Intent.MESSAGE_CONTENT: 1 << 18,
}


def me_object(guild: Guild) -> JsonObject:
    """Return the bot's own user."""
    return {**user_object(guild.bot), "verified": True, "mfa_enabled": False, "locale": "en-US", "email": None}


def app_flags(guild: Guild) -> int:
    """Return the application's flags for the privileged intents that are enabled."""
    return sum(flag for intent, flag in _INTENT_FLAGS.items() if guild.app.privileged & intent)


def application_object(guild: Guild) -> JsonObject:
    """Return the bot's application."""
    owner = next(iter(guild.people.values()))
    return {
        "id": guild.app.id,
        "name": guild.app.name,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot_public": guild.app.public,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": app_flags(guild),
        "flags_new": str(app_flags(guild)),
        "hook": True,
        "rpc_origins": [],
        "redirect_uris": [],
        "interactions_endpoint_url": guild.app.clicks_url,
        "role_connections_verification_url": None,
        "owner": user_object(owner),
        "team": None,
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "eligible_oauth2_scopes": ["bot", "applications.commands"],
        "bot": user_object(guild.bot),
    }


def guild_object(guild: Guild) -> JsonObject:
    """Return the guild as GET /guilds/{id} sends it."""
    owner = next(iter(guild.people.values()))
    return {
        "id": guild.id,
        "name": guild.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "description": None,
        "banner": None,
        "owner_id": owner.id,
        "application_id": None,
        "afk_channel_id": None,
        "afk_timeout": 300,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "safety_alerts_channel_id": None,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "mfa_level": 0,
        "nsfw": False,
        "nsfw_level": 0,
        "features": [],
        "emojis": [],
        "stickers": [],
        "roles": json_list([role_object(guild, role) for role in guild.roles.values()]),
        "preferred_locale": guild.locale,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "premium_progress_bar_enabled": False,
        "max_members": 500_000,
        "max_presences": None,
        "max_video_channel_users": 25,
        "max_stage_video_channel_users": 50,
        "incidents_data": None,
        "inventory_settings": None,
        "widget_enabled": False,
        "widget_channel_id": None,
        "region": "deprecated",
        "home_header": None,
        "hub_type": None,
    }


def guild_create(guild: Guild, members: list[Member]) -> JsonObject:
    """Return the guild as GUILD_CREATE sends it.

    Without the members intent, `members` holds the bot alone.
    """
    places = list(guild.places.values())
    return {
        **guild_object(guild),
        "joined_at": JOINED,
        "large": False,
        "unavailable": False,
        "member_count": len(guild.people) + 1,
        "members": json_list([member_object(member) for member in members]),
        "channels": json_list([channel_object(guild, p) for p in places if p.kind in ("channel", "forum")]),
        "threads": json_list(
            [channel_object(guild, p) for p in places if p.kind == "thread" and not p.archived and sees(guild, p)]
        ),
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }
