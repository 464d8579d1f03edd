// Discord, as the page draws it: its state in the shape of the workspace's, and what people do as Discord's routes want it.
import { call, watch as watchAt } from "./api.js";

export const name = "discord";
export const title = "Discord";
export const root = ["discord"];
export const privately = "Only you can see this";
export const noticeAbove = false;

const EPOCH = 1420070400000n;
const FLAG = { loading: 128, v2: 32768 };
const [ROW, BUTTON, STRING, INPUT, USERS, ROLES, MENTIONABLES, CHANNELS, SECTION, TEXT, , GALLERY, , SEPARATOR] = Array.from({ length: 14 }, (_, i) => i + 1);
const [CONTAINER, LABEL, UPLOAD, RADIO, BOXES, BOX] = [17, 18, 19, 21, 22, 23];
const STYLES = { 1: "primary", 3: "success", 4: "danger" };

/** A snowflake as a time in seconds that sorts and is never given twice, as the page wants it. */
function ts(id) {
  const ms = (BigInt(id) >> 22n) + EPOCH;
  return `${ms / 1000n}.${`${ms % 1000n}`.padStart(3, "0")}${`${BigInt(id) & 0x3fffffn}`.padStart(7, "0")}`;
}

// --- What there is to see

const plain = (text) => ({ type: "plain_text", text: text ?? "", emoji: false });
const option = ({ label, value, description, emoji }) => ({
  text: plain([emoji?.id ? null : emoji?.name, label].filter(Boolean).join(" ")), value, ...(description && { description: plain(description) }) });

/** What a menu that fills itself offers. */
function offered(kind, state, types) {
  const people = [...state.people, state.bot].map(({ id, name }) => ({ label: `@${name}`, value: id }));
  const roles = state.roles.map(({ id, name }) => ({ label: `@${name.replace(/^@/, "")}`, value: id }));
  const channels = state.channels.filter((one) => (types ?? [0, 15]).includes({ channel: 0, forum: 15, thread: 11 }[one.kind])).map(({ id, name }) => ({ label: `#${name}`, value: id }));
  return { [USERS]: people, [ROLES]: roles, [MENTIONABLES]: [...people, ...roles], [CHANNELS]: channels }[kind];
}

function menu(one, state) {
  const options = (one.options ?? offered(one.type, state, one.channel_types)).map(option);
  const chosen = one.options ? one.options.filter((o) => o.default).map(option)
    : options.filter((o) => one.default_values?.some((value) => value.id === o.value));
  const several = (one.max_values ?? 1) > 1 || one.min_values === 0;
  return { type: several ? "multi_static_select" : "static_select", action_id: one.custom_id, disabled: one.disabled, options,
    placeholder: plain(one.placeholder || "Make a selection"), max_selected_items: one.max_values ?? 1,
    ...(several ? { initial_options: chosen } : { initial_option: chosen[0] }) };
}

function button(one) {
  return { type: "button", action_id: one.custom_id ?? "", style: STYLES[one.style], disabled: one.disabled, url: one.url,
    text: plain([one.emoji?.id ? null : one.emoji?.name, one.label].filter(Boolean).join(" ")) };
}

/** A field of a modal as an element of the page. */
function field(one, state) {
  if (one.type === INPUT) return { type: "plain_text_input", action_id: one.custom_id, multiline: one.style === 2, initial_value: one.value,
    max_length: one.max_length ?? undefined, placeholder: plain(one.placeholder) };
  if (one.type === RADIO || one.type === BOXES) {
    const chosen = one.options.filter((o) => o.default).map(option);
    const options = one.options.map(option);
    return one.type === BOXES ? { type: "checkboxes", action_id: one.custom_id, options, initial_options: chosen }
      : { type: "radio_buttons", action_id: one.custom_id, options, initial_option: chosen[0] };
  }
  if (one.type === UPLOAD) return { type: "file_input", action_id: one.custom_id, max_files: one.max_values ?? 1 };
  if (one.type === BOX) return { type: "discord_checkbox", action_id: one.custom_id, checked: one.default === true };
  return one.options || offered(one.type, state) ? menu(one, state) : { type: `discord component ${one.type}`, action_id: one.custom_id };
}

/** Components of a message or modal as blocks of the page. */
function blocks(components, state) {
  return (components ?? []).map((one, i) => {
    const block_id = `${one.id ?? i}`;
    if (one.type === ROW && one.components[0]?.type === INPUT) return input({ ...one.components[0], id: one.id }, one.components[0], block_id, state);
    if (one.type === ROW) return { type: "actions", block_id, elements: one.components.map((el) => (el.type === BUTTON ? button(el) : menu(el, state))) };
    if (one.type === TEXT) return { type: "discord_text", block_id, content: one.content };
    if (one.type === LABEL) return input(one, one.component, block_id, state);
    if (one.type === SEPARATOR) return { type: one.divider === false ? "discord_gap" : "divider", block_id };
    if (one.type === SECTION) return { type: "discord_section", block_id, texts: one.components.map(({ content }) => content),
      accessory: one.accessory.type === BUTTON ? button(one.accessory) : { type: "image", image_url: one.accessory.media.url, alt_text: one.accessory.description ?? "" } };
    if (one.type === GALLERY) return { type: "discord_gallery", block_id, pictures: one.items.map(({ media, description }) => ({ image_url: media.url, alt_text: description ?? "" })) };
    if (one.type === CONTAINER) return { type: "discord_container", block_id, accent: one.accent_color ?? null, blocks: blocks(one.components, state) };
    return { type: `discord component ${one.type}`, block_id };
  });
}

const input = (label, one, block_id, state) => ({ type: "input", block_id, label: plain(label.label), optional: one.required === false,
  mark: one.required === false ? "" : "*", // Discord marks what is required
  ...(label.description && { hint: plain(label.description) }), element: field(one, state) });

function embed(one, i) {
  const texts = [one.author?.name, one.title && `**${one.title}**`, one.description,
    ...(one.fields ?? []).map(({ name, value }) => `**${name}**\n${value}`), one.footer && `-# ${one.footer.text}`];
  return { type: "discord_container", block_id: `embed ${i}`, accent: one.color ?? null,
    blocks: texts.filter(Boolean).map((content, j) => ({ type: "discord_text", block_id: `${j}`, content })) };
}

function message(m, state, channels) {
  const place = channels.get(m.channel);
  const thread = channels.get(m.id);
  const answered = m.reference && state.messages.find((other) => other.id === m.reference);
  const said = [
    answered && { type: "discord_reply", block_id: "reply", name: answered.name, content: answered.content.split("\n")[0].slice(0, 120) },
    m.flags & FLAG.loading && { type: "discord_text", block_id: "loading", content: `-# ${m.name} is thinking…` },
    m.content && { type: "discord_text", block_id: "content", content: m.content },
    ...m.snapshots.map(({ content }, i) => ({ type: "discord_forwarded", block_id: `forwarded ${i}`, content: content ?? "" })),
    ...m.embeds.map(embed),
    m.attachments.length && { type: "files", block_id: "files", files: m.attachments.map(({ filename, size }) => ({ name: filename, size })) },
    ...blocks(m.components, state),
  ].filter(Boolean);
  return { ts: ts(m.id), thread_ts: place.kind === "thread" ? ts(place.id) : null, channel: place.parent ?? place.id,
    user: m.author, username: m.name, bot: m.bot, edited: m.edited, ephemeral_to: m.ephemeral_to, streaming: false, text: "",
    blocks: said.length ? said : [{ type: "discord_text", block_id: "content", content: "" }],
    posted: m.components, posted_as: m.posted_as, at: { channel: m.channel, message: m.id }, thread: thread ? about(thread) : null };
}

const about = ({ id, name, archived, locked }) => ({ id, name, archived, locked });
const TOLD_BY_DISCORD = [18, 21]; // that a thread was begun, and what a thread begins with: the page shows both otherwise

function world(state) {
  const channels = new Map(state.channels.map((one) => [one.id, one]));
  const told = state.messages.filter((m) => channels.has(m.channel) && !TOLD_BY_DISCORD.includes(m.type));
  const begun = new Set(told.map((m) => m.id));
  // A thread that began alone stands in its channel by its name.
  const alone = state.channels.filter((one) => one.kind === "thread" && !begun.has(one.id)).map((one) => ({
    ts: ts(one.id), thread_ts: null, channel: one.parent, user: state.bot.id, username: state.bot.name, bot: true, text: "", streaming: false,
    blocks: [{ type: "discord_text", block_id: "content", content: `-# began a thread: ${one.name}` }], at: { channel: one.parent }, thread: about(one) }));
  const messages = [...told.map((m) => message(m, state, channels)), ...alone];
  return {
    bot: state.bot, people: state.people, roles: state.roles,
    channels: state.channels.filter((one) => one.kind !== "thread"),
    threads: state.channels.filter((one) => one.kind === "thread"),
    messages: messages.sort((a, b) => (a.ts < b.ts ? -1 : 1)),
    views: state.modals.map(({ person, modal }) => ({ person, errors: {}, view: { id: modal.custom_id, title: plain(modal.title), submit: plain("Submit"),
      close: plain("Cancel"), blocks: blocks(modal.components, state) } })),
    status: state.typing.map(({ channel, user }) => ({ channel: channels.get(channel)?.parent ?? channel, user,
      thread_ts: channels.get(channel)?.kind === "thread" ? ts(channel) : undefined, text: "is typing…" })),
  };
}

export async function state() {
  const fresh = await call("discord/state");
  return fresh.messages ? world(fresh) : fresh;
}

export const watch = (changed, gone) => watchAt("discord/events", changed, gone);

/** Discord's typing line goes away by itself. */
export const stale = (fresh) => (fresh.status.length ? 10_500 : null);

// --- What people do

export async function write({ person, channel, text, thread, files }) {
  const reply = await call("discord/write", { person, channel: thread ?? channel, content: text, files });
  return reply.ok ? { ...reply, ts: ts(reply.id) } : reply;
}

export const where = (m) => m.at;

export function act({ person, channel, message, view_id, action_id, selected }) {
  if (view_id) return { ok: true }; // a field tells nothing before Submit
  const body = { person, channel, message, custom_id: action_id };
  if (!action_id) return { ok: true }; // a link
  return selected === null ? call("discord/click", body) : call("discord/select", { ...body, values: [selected].flat().filter(Boolean) });
}

export const options = () => ({ ok: true, options: [] });
export const dismiss = (person, m) => call("discord/delete", { person, ...m.at });

export function submit({ person, view_id, values }) {
  const entered = Object.assign({}, ...Object.values(values));
  for (const [name, value] of Object.entries(entered)) if (value === null) entered[name] = [];
  return call("discord/submit", { person, custom_id: view_id, values: entered });
}

export const close = ({ person }) => call("discord/dismiss", { person });
