// The workspace: who one is, channels, messages, threads, in Slack or in Discord. The place is in the address
// (#person/channel/thread, #discord/person/channel/thread), so that two tabs can be two people, and "back" closes a thread.
import { drawBlocks } from "./blocks.js";
import * as discord from "./discord.js";
import * as slack from "./api.js";
import { h, newId, reconcile } from "./dom.js";
import { drawViews } from "./modal.js";
import { drawStart } from "./start.js";
import { date, names } from "./text.js";

// What the page knows of a site. What was there when it opened (`baseline`) counts as read; the thread of what this
// person wrote last (`following`) opens with its first reply.
const memory = (api) => ({ api, hash: `#${api.root.join("/")}`, world: null, baseline: "0", following: null, seen: new Map(), panes: new Map(), fetching: false, again: false });
const sites = { slack: memory(slack), discord: memory(discord) };
const chosen = () => (/^#discord(\/|$)/.test(location.hash) ? sites.discord : sites.slack);
let site = chosen();
let offer = null; // what there is to try in an empty channel
let same = null; // the name of who one was last: on the other site, one is that person again

const side = h("nav", { class: "side", "aria-label": "Channels and people" });
const main = h("section", { class: "main", "aria-label": "Channel" });
const aside = h("section", { class: "thread", "aria-label": "Thread" });
const offline = h("div", { class: "offline", role: "status" });
// The column with the workspace's name is hidden on a narrow screen, so the heading of the page is apart from it.
document.body.prepend(h("header", { class: "sr" }, h("h1", {}, document.title)), offline,
  h("div", { class: "app" }, side, h("main", { class: "panes" }, main, aside)));

// --- The place

function place() {
  const [id, channelId, thread] = location.hash.slice(1).split("/").map(decodeURIComponent).slice(site.api.root.length);
  const { people } = site.world;
  const person = people.find((someone) => someone.id === id) ?? people.find(({ name }) => name === same) ?? people[0];
  const channels = site.world.channels.filter((channel) => channel.kind !== "dm" || channel.person === person.id);
  const channel = channels.find((one) => one.id === channelId) ?? channels[0];
  return { person, channels, channel, thread: thread || null, listing: id && !channelId };
}
const address = (...parts) => `#${[...site.api.root, ...parts].filter(Boolean).map(encodeURIComponent).join("/")}`;
const title = (channel) => (channel.kind === "dm" ? site.world.bot.name : channel.name);

// --- What there is to see

const visible = (m, person, channel) => m.channel === channel.id && (!m.ephemeral_to || m.ephemeral_to === person.id);
const root = (m) => (m.thread_ts && m.thread_ts !== m.ts ? m.thread_ts : null);
const scope = (person, channel, thread) => [person.id, channel.id, thread ?? ""].join("/");
const unread = (m, person, channel) =>
  m.user !== person.id && visible(m, person, channel) && m.ts > (site.seen.get(scope(person, channel, root(m))) ?? site.baseline);
const dot = (shown) => h("span", { class: "dot", hidden: !shown }, h("span", { class: "sr" }, "unread"));

/** Built anew only when people or channels change, so that the open person switch stays open. */
function drawSide(at) {
  const list = JSON.stringify([site.api.name, site.world.people, at.channels, at.person]);
  if (side.drawn !== list) {
    side.drawn = list;
    side.replaceChildren(
      h("div", { class: "sites", role: "group", "aria-label": "Site" }, Object.values(sites).map(({ api }) =>
        h("a", { "data-site": api.name, "aria-current": api === site.api ? "true" : null }, api.title))),
      h("p", { class: "title" }, "Workspace", h("small", {}, "on this machine")),
      h("label", { class: "who" }, "You are", h("select", { onchange: (event) => go(event.target.value, place().channel.id) },
        site.world.people.map((person) => h("option", { value: person.id, selected: person.id === at.person.id }, person.name)))),
      ...[["Channels", "channel"], ["Direct messages", "dm"]].map(([heading, kind]) => h("section", {}, h("h2", {}, heading),
        h("ul", {}, at.channels.filter((channel) => channel.kind === kind).map((channel) => h("li", {},
          h("a", { href: address(at.person.id, channel.id), "data-channel": channel.id },
            h("span", { class: "sigil", "aria-hidden": "true" }, kind === "dm" ? "●" : "#"),
            h("span", { class: "name", dir: "auto" }, title(channel)),
            dot(false))))))));
  }
  for (const { api, hash } of Object.values(sites)) side.querySelector(`[data-site="${api.name}"]`).href = hash;
  for (const channel of at.channels) {
    const item = side.querySelector(`[data-channel="${CSS.escape(channel.id)}"]`);
    item.ariaCurrent = channel === at.channel ? "page" : null;
    item.lastChild.hidden = !site.world.messages.some((m) => unread(m, at.person, channel));
  }
}

function avatar(name, id, bot) {
  const hue = [...id].reduce((sum, c) => sum + c.codePointAt(0), 0) % 6;
  const initials = name.split(/\s+/).map((word) => [...word][0]).join("").slice(0, 2).toLocaleUpperCase();
  return h("span", { class: `avatar hue-${hue}${bot ? " bot" : ""}`, "aria-hidden": "true" }, initials);
}

function drawMessage({ m, replies }, old, at) {
  const name = m.username || (names.users.get(m.user) ?? m.user ?? "app");
  const id = newId();
  const node = old ?? h("article", { class: "message", tabindex: -1 },
    avatar(name, m.user ?? name, m.bot), h("div", { class: "said" }, h("div"), h("div", { class: "blocks" }), h("div")));
  const head = h("div", { class: "head" },
    h("b", { class: "name", dir: "auto", id }, name),
    m.bot && h("span", { class: "app-mark" }, "APP"),
    date(+m.ts, at.today(m) ? "{time}" : "{date_short}, {time}"),
    m.edited && h("span", {}, "(edited)"),
    m.ephemeral_to && h("span", { class: "private" }, site.api.privately),
    m.ephemeral_to && site.api.dismiss && h("button", { type: "button", class: "dismiss", onclick: () => node.dismiss() }, "Dismiss message"));
  const foot = (replies || (m.thread && !at.thread)) && h("a", { class: "replies", href: address(at.person.id, m.channel, m.ts) },
    m.thread && h("bdi", {}, m.thread.name),
    replies && h("span", {}, replies.count === 1 ? "1 reply" : `${replies.count} replies`),
    replies && h("span", { class: "hint" }, "last ", date(+replies.last, "{time}")),
    m.thread?.archived && h("span", { class: "app-mark" }, m.thread.locked ? "LOCKED" : "ARCHIVED"),
    replies && dot(replies.unread));
  const [heading, body, under] = node.lastChild.children;
  heading.replaceChildren(head);
  under.replaceChildren(...[foot, m.bot && drawPosted(node, m.posted ?? m.blocks)].filter(Boolean));
  node.setAttribute("aria-labelledby", id);
  node.classList.toggle("ephemeral", Boolean(m.ephemeral_to));
  node.classList.toggle("streaming", m.streaming);
  const blocks = [...(m.blocks ?? [])];
  if (m.markdown) blocks.unshift({ type: "markdown", text: m.markdown, block_id: "!markdown" });
  if (m.files?.length) blocks.push({ type: "files", block_id: "!files", files: m.files.map(({ name, size }) => ({ name, size })) });
  const shared = (m.attachments ?? []).filter(({ is_share }) => is_share);
  if (!blocks.length && (m.text || !shared.length)) blocks.push({ type: "section", text: { type: "mrkdwn", text: m.text ?? "" }, block_id: "!text" });
  blocks.push(...shared.map(({ author_name, text }, i) => ({ type: "shared", block_id: `!shared ${i}`, author: author_name, text })));
  node.blocks = m.blocks;
  node.dismiss ??= site.api.dismiss?.bind(null, at.person.id, m);
  node.api ??= acting({ person: at.person.id, ...site.api.where(m) }, () => node.blocks);
  drawBlocks(body, blocks, node.api);
  return node;
}

/**
 * The JSON of a message of the bot as it was posted, behind a word that appears with the pointer or the focus. The Tab
 * key passes it by, so that people go from control to control; Alt+J opens it where the focus is.
 */
function drawPosted(node, posted) {
  if (!posted?.length) return null;
  if (!node.posted) {
    const code = h("pre", { tabindex: 0, role: "region", "aria-label": "The JSON that was posted" });
    const word = h("summary", { tabindex: -1, title: "What was posted (Alt+J)" }, "JSON");
    const details = h("details", { class: "posted", ontoggle: () => node.posted.show() }, word, code);
    node.addEventListener("keydown", (event) => event.altKey && event.code === "KeyJ" && (event.preventDefault(), (details.open = !details.open)));
    node.posted = { details, show: () => (code.textContent = details.open ? JSON.stringify(node.posted.value, null, 2) : "") };
  }
  node.posted.value = posted;
  node.posted.show();
  return node.posted.details;
}

// --- Doing

/**
 * The api of the controls in one message or modal. An action is answered when the app has acknowledged it. A field
 * only tells the workspace what it holds (`note`), and an action waits for that, so that it carries every field. With
 * the blocks `shown`, a click on a card that has changed meanwhile arrives as the late click that it is.
 */
function acting(where, shown) {
  const { api } = site;
  let noted = Promise.resolve();
  const act = (body) => api.act({ ...where, ...body, blocks: shown?.() });
  return {
    act: (body) => noted.then(() => act(body)),
    note: (body) => (noted = noted.then(() => act(body))),
    options: (body) => api.options({ ...where, ...body }),
  };
}

async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { name: file.name, base64: btoa(text), ...(file.type && { type: file.type }) };
}

function composer(at, thread) {
  const mine = site;
  const mention = `@${site.world.bot.name}`;
  const field = h("textarea", { rows: 1, dir: "auto", "aria-label": thread ? "Reply in the thread" : `Message ${title(at.channel)}`,
    placeholder: thread ? "Reply…" : `Message ${at.channel.kind === "dm" ? "" : "#"}${title(at.channel)}`,
    onkeydown(event) {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    } });
  const problem = h("p", { class: "problem", role: "alert" });
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach", onchange() {
    attach([...files, ...picker.files]);
    picker.value = "";
    field.focus();
  } });
  const chips = h("ul", { class: "chips", "aria-label": "Files to send" });
  let files = [];
  function attach(chosen) {
    files = chosen;
    chips.replaceChildren(...files.map((file) => h("li", {}, h("bdi", {}, file.name),
      h("button", { type: "button", "aria-label": `Remove ${file.name}`, onclick: () => (attach(files.filter((one) => one !== file)), field.focus()) }, "✕"))));
  }
  async function post(text, sent = []) {
    const begun = thread && mine.world.messages.find((m) => m.ts === thread)?.thread?.id;
    const reply = await mine.api.write({ person: at.person.id, channel: at.channel.id, text, root: thread, thread: begun, ...(sent.length && { files: await Promise.all(sent.map(readFile)) }) });
    if (reply.ok) {
      if (!thread) mine.following = { channel: at.channel.id, person: at.person.id, ts: reply.ts };
      draw();
    }
    return reply;
  }
  async function send() {
    const text = field.value;
    if (!text.trim() && !files.length) return;
    const sent = files;
    field.value = problem.textContent = "";
    attach([]);
    const reply = await post(text, sent);
    if (reply.ok) return;
    problem.textContent = `⚠ ${reply.error || "That was not sent. Try again."}`;
    field.value ||= text;
    if (!files.length) attach(sent);
  }
  const node = h("div", { class: "composer" },
    h("div", { class: "box" }, field, chips, picker,
      h("div", { class: "tools" },
        at.channel.kind === "channel" && h("button", { type: "button", class: "icon", "aria-label": `Mention ${mention}`, onclick() {
          const gap = /(^|\s)$/.test(field.value.slice(0, field.selectionStart)) ? "" : " ";
          field.setRangeText(`${gap}${mention} `, field.selectionStart, field.selectionEnd, "end");
          field.focus();
        } }, mention),
        h("button", { type: "button", class: "icon", "aria-label": "Attach files", title: "Attach files", onclick: () => picker.click() }, "📎"),
        h("span", { class: "hint" }, "Shift+Enter for a new line"),
        h("button", { type: "button", class: "button primary", onclick: () => (send(), field.focus()) }, "Send"))),
    problem);
  node.field = field;
  node.ask = async (text) => {
    const reply = await post(at.channel.kind === "channel" ? `${mention} ${text}` : text);
    problem.textContent = reply.ok ? "" : `⚠ ${reply.error || "That was not sent. Try again."}`;
  };
  return node;
}

// --- Panes: a channel or a thread as one person sees it. Each keeps its drafts, its ticks and where it was scrolled.

function pane(at, thread) {
  const key = scope(at.person, at.channel, thread);
  if (site.panes.has(key)) return site.panes.get(key);
  const list = h("div", { class: "list" });
  const start = h("div", { class: "start", hidden: true });
  const log = h("div", { class: "log", role: "log", tabindex: 0, "aria-label": thread ? "Messages of the thread" : `Messages of ${title(at.channel)}` }, start, list);
  const status = h("span", { role: "status" });
  const problem = h("span", { class: "problem", role: "alert" });
  const button = h("button", { type: "button", class: "stop", hidden: true, onclick: () => made.stop?.() });
  const doing = h("div", { class: "status" }, status, button, problem);
  const writing = composer(at, thread);
  const about = h("bdi", {}, "Thread");
  const heading = thread
    ? h("header", {}, h("h2", {}, about, " ", h("small", { dir: "auto" }, `${at.channel.kind === "dm" ? "with " : "#"}${title(at.channel)}`)),
        h("a", { class: "icon", href: address(at.person.id, at.channel.id), "aria-label": "Close the thread" }, "✕"))
    : h("header", {}, h("a", { class: "icon narrow", href: address(at.person.id), "aria-label": "Channels" }, "☰"),
        h("h2", { dir: "auto" }, `${at.channel.kind === "dm" ? "" : "# "}${title(at.channel)}`));
  const made = { list, start, log, status, button, problem, writing, about, stuck: true, at: 0, node: h("div", { class: "pane" }, heading, log, doing, writing) };
  made.to = (top) => (log.scrollTop = top, made.at = log.scrollTop);
  // The end is left by scrolling up, and in no other way: what has grown below since the scroll that is told of here
  // does not count.
  log.addEventListener("scroll", () => {
    if (!log.isConnected) return;
    const near = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    if (near || log.scrollTop < made.at) made.stuck = near;
    made.at = log.scrollTop;
  });
  const stick = new ResizeObserver(() => made.stuck && made.to(log.scrollHeight));
  [list, log].forEach((node) => stick.observe(node));
  site.panes.set(key, made);
  return made;
}

function drawPane(home, at, thread) {
  const shown = pane(at, thread);
  const messages = site.world.messages.filter((m) => visible(m, at.person, at.channel));
  const mine = messages.filter((m) => (thread ? root(m) === thread || m.ts === thread : !root(m)));
  if (mine.length) site.seen.set(scope(at.person, at.channel, thread), mine.reduce((last, m) => (m.ts > last ? m.ts : last), "0"));
  const items = mine.map((m) => {
    const replies = thread ? [] : messages.filter((reply) => root(reply) === m.ts);
    return { m, replies: replies.length > 0 && {
      count: replies.length, last: replies.at(-1).ts, unread: m.ts !== at.thread && replies.some((reply) => unread(reply, at.person, at.channel)) } };
  });
  const begun = thread && messages.find((m) => m.ts === thread)?.thread;
  if (begun) shown.about.textContent = `${begun.name}${begun.locked ? " (locked)" : begun.archived ? " (archived)" : ""}`;
  // The start is read from its top; messages are read from their end.
  const empty = Boolean(offer) && !thread && !mine.length;
  if (shown.start.hidden === empty) shown.stuck = !empty;
  shown.start.hidden = !empty;
  if (empty) drawStart(shown.start, offer, { site: site.api, other: (site === sites.slack ? sites.discord : sites.slack).api, channel: at.channel, ask: shown.writing.ask });
  const top = shown.log.scrollTop;
  reconcile(shown.list, items, ({ m }) => m.ts, (item, old) => drawMessage(item, old, at));
  // A card that is drawn anew is shorter for a moment, which may have moved everything.
  if (shown.stuck) shown.to(shown.log.scrollHeight);
  else if (shown.log.scrollTop !== top) shown.to(top);
  const status = site.world.status.find((s) => s.text && s.channel === at.channel.id && (thread ? s.thread_ts === thread : s.thread_ts !== at.thread));
  drawStatus(shown, status, at.person);
  if (home.firstChild !== shown.node) {
    const { at: before } = shown;
    home.replaceChildren(shown.node);
    shown.to(shown.stuck ? shown.log.scrollHeight : before);
  }
  return shown;
}

/** What the bot does here, and a button to stop it. A text that has not changed is not said again. */
function drawStatus(shown, status, person) {
  const { api } = site;
  const text = status ? `${site.world.bot.name} ${status.text}` : "";
  if (shown.status.textContent !== text) shown.status.textContent = text;
  shown.status.classList.toggle("waiting", Boolean(status?.waiting));
  if (!status?.stoppable) {
    shown.problem.textContent = "";
    if (document.activeElement === shown.button) shown.writing.field.focus();
  }
  shown.button.hidden = !status?.stoppable;
  shown.button.textContent = status?.stoppable ? "Stop" : "";
  shown.stop = async () => {
    const reply = await api.stop(person.id, status);
    shown.problem.textContent = reply.ok ? "" : `⚠ ${reply.error}`;
  };
}

// --- Drawing all of it

let spot = null; // the control in a message that had the focus last
document.addEventListener("focusin", ({ target }) => {
  const message = target.closest(".message");
  if (message) spot = { message, action: target.closest("[data-action]")?.dataset.action, value: target.dataset.value };
  else if (!target.closest("dialog")) spot = null;
});

/** Gives the focus back when the control that had it was drawn anew, or when its modal has closed. */
function refocus() {
  if (!spot?.message.isConnected) return;
  const controls = [...spot.message.querySelectorAll("[data-action] :is(button, input, textarea), button[data-action]")].filter((node) => node.checkVisibility());
  const same = controls.find((node) => spot.action && node.closest("[data-action]")?.dataset.action === spot.action && node.dataset.value === spot.value);
  (same ?? controls[0] ?? spot.message).focus({ preventScroll: true });
}

function draw() {
  if (!site.world) return;
  const opened = openFollowed();
  const at = place();
  names.me = at.person.id;
  same = at.person.name;
  site.hash = location.hash || site.hash;
  for (const { id, name } of [...site.world.people, site.world.bot]) names.users.set(id, name);
  for (const { id, name } of [...site.world.channels, ...(site.world.threads ?? [])]) names.channels.set(id, name);
  for (const { id, name } of site.world.groups ?? []) names.groups.set(id, name);
  for (const { id, name } of site.world.roles ?? []) names.roles.set(id, name);
  names.myRoles = at.person.roles ?? [];
  names.people = [...site.world.people, site.world.bot].map(({ id, name }) => ({ id, name: `@${name}` }));
  names.conversations = site.world.channels.filter(({ kind }) => kind === "channel")
    .map((one) => ({ id: one.id, name: `#${one.name}`, kind: one.private ? "private" : "public" }));
  const day = new Date().toDateString();
  at.today = (m) => new Date(m.ts * 1000).toDateString() === day;

  const focused = document.activeElement;
  const shown = drawPane(main, at, null);
  const thread = at.thread && drawPane(aside, at, at.thread);
  if (!thread) aside.replaceChildren();
  document.documentElement.dataset.site = site.api.name;
  document.body.dataset.pane = thread ? "thread" : at.listing ? "side" : "main";
  drawSide(at);
  document.title = `${title(at.channel)} · ${at.person.name}`;
  drawViews(site.world.views, at.person.id, acting, site.api);
  if (focused !== document.body && !(focused.isConnected && focused.checkVisibility())) refocus();
  if (opened && !shown.writing.field.value && !document.querySelector("dialog[open]")) thread.writing.field.focus();
  return { shown, thread };
}

/** Opens the thread of the message that was written last, once it has a reply; never away from a half-written one. */
function openFollowed() {
  const at = place();
  if (site.following?.channel !== at.channel.id || site.following.person !== at.person.id) return false;
  const parent = site.following.ts;
  if (!site.world.messages.some((m) => root(m) === parent && visible(m, at.person, at.channel))) return false;
  site.following = null;
  if (at.thread && pane(at, at.thread).writing.field.value) return false;
  history[at.thread ? "replaceState" : "pushState"](null, "", address(at.person.id, at.channel.id, parent));
  return true;
}

function go(...parts) {
  location.hash = address(...parts);
}

async function refresh(mine = site) {
  mine.again = true;
  if (mine.fetching) return;
  mine.fetching = true;
  while (mine.again) {
    mine.again = false;
    const fresh = await mine.api.state();
    if (!fresh.messages) continue;
    const first = !mine.world;
    if (first) mine.baseline = fresh.messages.reduce((last, m) => (m.ts > last ? m.ts : last), "0");
    mine.world = fresh;
    const wait = mine.api.stale(fresh);
    if (wait) setTimeout(refresh, wait, mine);
    if (mine !== site) continue;
    draw();
    if (first) site.panes.get(scope(place().person, place().channel, place().thread))?.writing.field.focus();
  }
  mine.fetching = false;
}

addEventListener("hashchange", () => {
  if (chosen() !== site) return enter();
  const drawn = draw();
  if (drawn && !document.querySelector("dialog[open]")) (drawn.thread ?? drawn.shown).writing.field.focus();
});
addEventListener("keydown", (event) => {
  if (event.key !== "F6") return; // from pane to pane, as in Slack
  event.preventDefault();
  const stops = [side.querySelector("select"), ...document.querySelectorAll(".pane textarea")].filter((node) => node.checkVisibility());
  const here = stops.findIndex((node) => node.closest(".side, .main, .thread").contains(document.activeElement));
  stops.at((here + (event.shiftKey ? -1 : 1)) % stops.length).focus();
});

/** Goes to the site in the address; what the other one has drawn stays for when one comes back. */
let leave = () => {};
function enter() {
  const mine = (site = chosen());
  leave();
  leave = mine.api.watch(() => refresh(mine), (gone) => {
    offline.textContent = gone ? "The workspace is away. Trying again…" : "";
  });
  // Until this one is there, nobody writes into the other by mistake.
  if (!mine.world) main.replaceChildren(), aside.replaceChildren();
  draw();
}
enter();
refresh();
slack.call("start").then((found) => {
  if (!found.suggestions) return;
  offer = found;
  draw();
});
