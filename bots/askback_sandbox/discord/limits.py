"""Discord's limits, in one table, each with its source.

[dd] discord-api-docs, [spec] Discord's OpenAPI document, [err] a refusal of the live API that was published with its
text, [own] chosen here.
"""

from typing import Final

# messages
CONTENT: Final = 2_000  # [dd resources/message] (the OpenAPI document says 4,000)
EMBEDS: Final = 10  # [dd resources/message]
EMBED_CHARACTERS: Final = 6_000  # of all embeds together [dd resources/message]
EMBED_TITLE: Final = 256  # [dd resources/message]
EMBED_DESCRIPTION: Final = 4_096  # [dd resources/message]
EMBED_FIELDS: Final = 25  # [dd resources/message]
EMBED_FIELD_NAME: Final = 256  # [dd resources/message]
EMBED_FIELD_VALUE: Final = 1_024  # [dd resources/message]
EMBED_FOOTER: Final = 2_048  # [dd resources/message]
NONCE: Final = 25  # [dd resources/message]
NONCE_SECONDS: Final = 300.0  # "in the past few minutes" [dd resources/message]
BODY_BYTES: Final = 10 * 2**20  # [own] the default attachment limit
LIST_LIMIT: Final = 100  # [dd resources/message]

# components of messages
LEGACY_ROWS: Final = 5  # [dd components/reference, legacy behaviour]
COMPONENTS: Final = 40  # with the flag IS_COMPONENTS_V2, all together [dd components/reference]
TEXT_DISPLAYS: Final = 4_000  # characters over all text displays [discord.py ui.LayoutView]
ROW_BUTTONS: Final = 5  # [dd components/reference]
SECTION_TEXTS: Final = 3  # [dd components/reference]
CUSTOM_ID: Final = 100  # [dd components/reference]
BUTTON_LABEL: Final = 80  # [dd components/reference]
BUTTON_URL: Final = 512  # [dd components/reference]
PLACEHOLDER: Final = 150  # of a select [dd components/reference]
OPTIONS: Final = 25  # [dd components/reference]
OPTION_TEXT: Final = 100  # label, value and description [dd components/reference]

# modals
MODAL_TITLE: Final = 45  # [dd interactions/receiving-and-responding]
MODAL_COMPONENTS: Final = 5  # [dd interactions/receiving-and-responding] (the OpenAPI document says 40)
LABEL: Final = 45  # [dd components/reference]
LABEL_DESCRIPTION: Final = 100  # [dd components/reference]
INPUT_VALUE: Final = 4_000  # [dd components/reference]
INPUT_PLACEHOLDER: Final = 100  # [dd components/reference]
GROUP_OPTIONS: Final = 10  # radio and checkbox groups [dd components/reference]
RADIO_LEAST: Final = 2  # [dd components/reference]

# channels
CHANNEL_NAME: Final = 100  # [dd resources/channel]
ARCHIVE_MINUTES: Final = (60, 1_440, 4_320, 10_080)  # [dd resources/channel]

# time
RESPONSE_SECONDS: Final = 3.0  # to the initial response [dd receiving-and-responding]
TOKEN_SECONDS: Final = 900.0  # of an interaction's token [dd receiving-and-responding]
TYPING_SECONDS: Final = 10.0  # [dd resources/channel]

# gateway
HEARTBEAT_SECONDS: Final = 41.25  # as the live gateway reports it
GATEWAY_BYTES: Final = 4_096  # of a message from a client [dd events/gateway]
GATEWAY_SENDS: Final = 120  # in 60 seconds [dd events/gateway]
GATEWAY_WINDOW: Final = 60.0  # [dd events/gateway]
KEPT_DISPATCHES: Final = 1_000  # [own] the events that RESUME can replay
SESSION_SECONDS: Final = 180.0  # [own] a session without a connection can be resumed for this time

# REST
BUCKET_REQUESTS: Final = 50  # [own] generous
BUCKET_SECONDS: Final = 1.0  # [own]
THREAD_REQUESTS: Final = 50  # threads started in one channel [seen live]
THREAD_SECONDS: Final = 280.0  # the live window is 219 to 280 s long [seen live]
ATTACHMENT_BYTES: Final = 10_485_760  # attachment_size_limit [recorded]
