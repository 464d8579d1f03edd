"""Slack's limits, in one table, each with its source.

[ref] docs.slack.dev/reference/..., [sdk] slack_sdk.models 3.47, [err] a refusal of the live API that was
published with its text, [3p] reported by others, not documented.
"""

from typing import Final

# messages and views
MESSAGE_BLOCKS: Final = 50  # [ref block-kit/blocks] [err "no more than 50 items allowed"]
VIEW_BLOCKS: Final = 100  # [ref views/modal-views] [sdk View]
MESSAGE_TEXT: Final = 40_000  # [ref chat.postMessage: longer text is cut; refused here so that nobody relies on it]
UPDATE_TEXT: Final = 4_000  # [ref chat.update: msg_too_long]
BLOCK_CHARACTERS: Final = 12_000  # [3p bolt-js#2509, #2867: msg_blocks_too_long at about 12,000]
MARKDOWN_TEXT: Final = 12_000  # [ref markdown-block; markdown_text of chat.*Stream]
METADATA_BYTES: Final = 8_000  # metadata_too_large is documented [ref chat.postMessage], its number is not
ID_LENGTH: Final = 255  # block_id, action_id, callback_id, external_id [ref]
VIEW_TITLE: Final = 24  # title, submit, close [ref views/modal-views] [err "must be less than 25 characters"]
PRIVATE_METADATA: Final = 3_000  # [ref views/modal-views]
VIEW_BYTES: Final = 250_000  # view_too_large, "greater than 250kb" [ref views.open]
VIEW_STACK: Final = 3  # push_limit_reached [ref views.push]
HISTORY_PAGE: Final = 100  # of conversations.history without a limit [ref conversations.history]
REPLIES_PAGE: Final = 1_000  # of conversations.replies without a limit [ref conversations.replies]
LIST_PAGE: Final = 100  # of conversations.list and users.list without a limit [ref conversations.list]
LARGEST_PAGE: Final = 1_000  # [ref conversations.replies; history says 999]
TABLES: Final = 1  # per message [3p slack-skills-plugin]

# blocks
SECTION_TEXT: Final = 3_000  # [ref section-block] [err "must be less than 3001 characters"]
SECTION_FIELDS: Final = 10  # [ref section-block]
FIELD_TEXT: Final = 2_000  # [ref section-block]
HEADER_TEXT: Final = 150  # [ref header-block]
CONTEXT_ELEMENTS: Final = 10  # [ref context-block]
ACTIONS_ELEMENTS: Final = 25  # [ref actions-block]
INPUT_LABEL: Final = 2_000  # label and hint [ref input-block]
IMAGE_URL: Final = 3_000  # [ref image-block]
ALT_TEXT: Final = 2_000  # alt_text and title [ref image-block]
TEXT_OBJECT: Final = 3_000  # [ref text-object]
CARD_TITLE: Final = 150  # title and subtitle [ref card-block]
CARD_BODY: Final = 200  # [ref card-block]
CARD_ACTIONS: Final = 3  # [3p]
CONTAINER_TITLE: Final = 150  # title and subtitle [ref container-block]
CONTAINER_BLOCKS: Final = 10  # [ref container-block]
TABLE_ROWS: Final = 100  # [ref table-block]
TABLE_CELLS: Final = 20  # [ref table-block]

# elements and composition objects
BUTTON_TEXT: Final = 75  # [ref button-element]
BUTTON_VALUE: Final = 2_000  # [ref button-element]
BUTTON_URL: Final = 3_000  # [ref button-element]
ACCESSIBILITY_LABEL: Final = 75  # [ref button-element]
AGENT_PROMPT: Final = 4_000  # [sdk ButtonElement]
PLACEHOLDER: Final = 150  # [ref select-menu-element]
OPTION_TEXT: Final = 75  # [ref option-object]
OPTION_VALUE: Final = 150  # [ref option-object]
OPTION_DESCRIPTION: Final = 75  # [ref option-object]
MENU_OPTIONS: Final = 100  # options, option groups, options of a group [ref select-menu-element]
DATE_TIME: Final = (1_000_000_000, 9_999_999_999)  # seconds of ten digits [ref datetime-picker-element]
DATE: Final = 10  # YYYY-MM-DD [ref date-picker-element]
TIME: Final = 5  # HH:mm [ref time-picker-element]
TIME_ZONE: Final = 64  # an IANA name [ref time-picker-element]; the longest one has fewer characters
NUMBER: Final = 64  # of a number as text; unpublished
CHOICES: Final = 10  # checkboxes and radio buttons [err "no more than 10 items allowed"]
OVERFLOW_OPTIONS: Final = 5  # [ref overflow-menu-element]
INPUT_TEXT: Final = 3_000  # min_length 0-3000, max_length 1-3000 [ref plain-text-input-element]
FILES: Final = 10  # max_files 1-10 [ref file-input-element]
FILE_BYTES: Final = 10_000_000  # "There is a 10MB file size limit" [ref file-input-element]
FILE_TYPE: Final = 64  # of a suffix; unpublished
CONFIRM_TITLE: Final = 100  # [ref confirmation-dialog-object]
CONFIRM_TEXT: Final = 300  # [ref confirmation-dialog-object]
CONFIRM_BUTTON: Final = 30  # [ref confirmation-dialog-object]

# time
ACK_SECONDS: Final = 3.0  # [ref interactivity/handling-user-interaction]
TRIGGER_SECONDS: Final = 3.0  # [ref interactivity/handling-user-interaction]
RESPONSE_URL_SECONDS: Final = 1_800.0  # [ref handling-user-interaction]
RESPONSE_URL_USES: Final = 5  # [ref handling-user-interaction]
STREAM_SECONDS: Final = 300.0  # [3p python-slack-sdk#1859: a stream ends automatically after about five minutes]
STATUS_SECONDS: Final = 120.0  # [ref assistant.threads.setStatus]
LOADING_MESSAGES: Final = 10  # [ref assistant.threads.setStatus]
SESSION_TITLE: Final = 200  # [ref agents.sessions.setStatus, agents.sessions.rename]
CHUNK_TEXT: Final = 256  # fields of task_update and plan_update chunks [ref chat.appendStream]
CONNECTIONS: Final = 10  # [ref apis/events-api/using-socket-mode]
EVENT_RETRIES: Final = (3.0, 10.0, 30.0)  # Slack: about at once, 1 min, 5 min [ref events-api]; shorter here
