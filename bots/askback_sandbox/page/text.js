// Slack's kinds of text as DOM nodes: plain text, mrkdwn, the markdown block and rich text.
import { h } from "./dom.js";

/** What ids are called; `me` is who looks, to mark mentions of that person. */
export const names = { users: new Map(), channels: new Map(), groups: new Map(), roles: new Map(), me: null, myRoles: [],
  people: [], conversations: [] }; // what pickers offer

const EMOJI = {
  "+1": "👍", "-1": "👎", arrow_left: "⬅️", arrow_right: "➡️", ballot_box_with_check: "☑️", bell: "🔔", bulb: "💡",
  eyes: "👀", hourglass: "⌛", hourglass_flowing_sand: "⏳", lock: "🔒", no_entry: "⛔", no_entry_sign: "🚫",
  pencil: "📝", pencil2: "✏️", question: "❓", robot_face: "🤖", rocket: "🚀", smile: "😄", speech_balloon: "💬",
  star: "⭐", tada: "🎉", thumbsup: "👍", thumbsdown: "👎", warning: "⚠️", wave: "👋", white_check_mark: "✅", x: "❌",
};
const decode = (text) => text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]);
const chip = (text, id) => h("bdi", { class: `mention${id && id === names.me ? " me" : ""}` }, text);
const user = (id) => chip(`@${names.users.get(id) ?? id}`, id);
const channel = (id, label) => chip(`#${names.channels.get(id) ?? (label || id)}`);

export function link(url, kids) {
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return h("bdi", {}, kids);
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, h("bdi", {}, kids));
}

/** Slack's date formats, in the time zone of the person who looks. */
export function date(seconds, format, url) {
  const then = new Date(seconds * 1000);
  const days = (d) => Math.floor((d.getTime() / 60000 - d.getTimezoneOffset()) / 1440);
  const show = (options) => new Intl.DateTimeFormat(undefined, options).format(then);
  const full = (month) => show({ year: "numeric", month, day: "numeric" });
  const pretty = (text) => ({ "-1": "yesterday", 0: "today", 1: "tomorrow" })[days(then) - days(new Date())] ?? text;
  const forms = {
    date_num: () => [then.getFullYear(), then.getMonth() + 1, then.getDate()].map((n) => `${n}`.padStart(2, "0")).join("-"),
    date_digits: () => show({ year: "numeric", month: "2-digit", day: "2-digit" }),
    date: () => full("long"), date_short: () => full("short"), date_long: () => show({ dateStyle: "full" }),
    date_pretty: () => pretty(forms.date()), date_short_pretty: () => pretty(forms.date_short()),
    date_long_pretty: () => pretty(forms.date_long()), day_divider_pretty: () => pretty(forms.date_long()),
    time: () => show({ timeStyle: "short" }), time_secs: () => show({ timeStyle: "medium" }),
    ago() {
      const gap = (then - Date.now()) / 1000;
      const [unit, size] = [["day", 86400], ["hour", 3600], ["minute", 60]].find(([, s]) => Math.abs(gap) >= s) ?? ["second", 1];
      return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(gap / size), unit);
    },
  };
  const text = format.replace(/\{(\w+)\}/g, (whole, name) => forms[name]?.() ?? whole);
  const node = h("time", { datetime: then.toISOString(), title: show({ dateStyle: "full", timeStyle: "long" }) }, text);
  return url ? link(url, node) : node;
}

/** What stands between < and >. */
function angle(inside) {
  const [target, ...rest] = inside.split("|");
  const label = decode(rest.join("|"));
  if (target.startsWith("@")) return user(target.slice(1));
  if (target.startsWith("#")) return channel(target.slice(1), label);
  if (target.startsWith("!date^")) {
    const [, seconds, format, url] = target.split("^");
    return Number.isFinite(+seconds) && format ? date(+seconds, decode(format), url && decode(url)) : label;
  }
  if (target.startsWith("!subteam")) return chip(label || `@${target.slice(9)}`);
  if (target.startsWith("!")) return chip(`@${target.slice(1)}`);
  return /^(https?:\/\/|mailto:)/i.test(target) ? link(decode(target), label || decode(target)) : `<${decode(inside)}>`;
}

const DULL = /[^\\`<![*_~|h:&]+/y; // no rule begins with these
/** Reads `text` by `rules`: [pattern (sticky), only at a word's edge?, what it becomes]. */
export function inline(text, rules) {
  const out = [];
  let plain = "";
  for (let i = 0; i < text.length; ) {
    DULL.lastIndex = i;
    const dull = DULL.exec(text)?.[0];
    if (dull) {
      plain += dull;
      i += dull.length;
      continue;
    }
    let found = null;
    for (const [pattern, edge, become] of rules) {
      pattern.lastIndex = i;
      const match = (!edge || i === 0 || /[^\p{L}\p{N}]/u.test(text[i - 1])) && pattern.exec(text);
      if (match) {
        found = [match[0].length, become(match, rules)];
        break;
      }
    }
    if (found && typeof found[1] !== "string") out.push(plain, found[1]), (plain = "");
    else plain += found ? found[1] : text[i];
    i += found ? found[0] : 1;
  }
  return [...out, plain];
}

const styled = (tag) => (match, rules) => h(tag, {}, inline(match[1], rules));
const emoji = [/:([a-z0-9_+-]+):/y, false, (m) => (Object.hasOwn(EMOJI, m[1]) ? EMOJI[m[1]] : m[0])];
const entity = [/&(lt|gt|amp);/y, false, (m) => decode(m[0])];
const angled = [/<([^<>\n]+)>/y, false, (m) => angle(m[1])];
const bare = [/https?:\/\/[^\s<>|]*[^\s<>|.,;:!?)'"`*_~\]]/y, true, (m) => link(decode(m[0]), decode(m[0]))];
const MRKDWN = [
  angled,
  [/`([^`\n]+)`/y, true, (m) => h("code", {}, decode(m[1]))],
  [/\*(?!\s)([^*\n]*[^*\s])\*(?![\p{L}\p{N}*])/uy, true, styled("b")],
  [/_(?!\s)([^_\n]*[^_\s])_(?![\p{L}\p{N}_])/uy, true, styled("i")],
  [/~(?!\s)([^~\n]*[^~\s])~(?![\p{L}\p{N}~])/uy, true, styled("s")],
  emoji,
  entity,
];
const MARKDOWN = [
  [/\\([\\`*_{}[\]()#+\-.!~<>|&:@])/y, false, (m) => m[1]],
  [/(`+)(?!`)(.+?)(?<!`)\1(?!`)/y, false, (m) => h("code", {}, m[2].replace(/^ (.*\S.*) $/, "$1"))],
  angled,
  [/!?\[([^\]\n]+)\]\(([^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)/y, false, (m, rules) => link(m[2], inline(m[1], rules))],
  [/\*\*(?!\s)((?:[^*\n]|\*(?!\*))*?\S)\*\*/y, false, styled("b")],
  [/__(?!\s)([^\n]*?\S)__(?![\p{L}\p{N}])/uy, true, styled("b")],
  [/\*(?![\s*])([^*\n]*[^*\s])\*/y, false, styled("i")],
  [/_(?![\s_])([^_\n]*[^_\s])_(?![\p{L}\p{N}])/uy, true, styled("i")],
  [/~~(?!\s)([^~\n]*[^~\s])~~/y, false, styled("s")],
  bare,
  emoji,
  entity,
];

export const auto = (tag, kids, props) => h(tag, { dir: "auto", ...props }, kids);

export function plainText(text, withEmoji = true) {
  return auto("div", withEmoji ? inline(text, [emoji]) : text, { class: "text" });
}

export function mrkdwn(text, verbatim = false) {
  const rules = verbatim ? MRKDWN : [...MRKDWN, bare];
  const box = h("div", { class: "text" });
  text.split(/```\n?([^]*?)\n?```\n?/).forEach((part, i) => {
    if (i % 2) return box.append(auto("pre", decode(part)));
    part.split(/((?:^(?:&gt;|>).*\n?)+)/m).forEach((lines, j) => {
      if (j % 2) box.append(auto("blockquote", inline(lines.replace(/^(&gt;|>) ?/gm, "").trimEnd(), rules)));
      else if (lines) box.append(auto("p", inline(lines.replace(/\n$/, ""), rules)));
    });
  });
  return box;
}

/** A text object of Block Kit. */
export const textObject = (object) =>
  object.type === "mrkdwn" ? mrkdwn(object.text, object.verbatim) : plainText(object.text, object.emoji !== false);

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim());
const row = (tag, line) => h("tr", {}, cells(line).map((cell) => auto(tag, inline(cell, MARKDOWN))));
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/** The markdown of models: headings, lists, quotes, tables, fenced code, and what stands in a line. */
export function markdown(text) {
  const box = h("div", { class: "text" });
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const take = (test) => {
    const from = at;
    while (at < lines.length && test(lines[at])) at++;
    return lines.slice(from, at);
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if ((match = /^\s*(```+|~~~+)/.exec(line))) {
      at++;
      box.append(auto("pre", take((l) => !l.trim().startsWith(match[1])).join("\n")));
      at++;
    } else if ((match = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line))) {
      box.append(auto("div", inline(match[2], MARKDOWN), { class: "heading", role: "heading", "aria-level": match[1].length + 2 }));
      at++;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      box.append(h("hr"));
      at++;
    } else if (/^\s*>/.test(line)) {
      const quoted = take((l) => /^\s*>/.test(l)).map((l) => l.replace(/^\s*> ?/, "")).join("\n");
      box.append(h("blockquote", {}, ...markdown(quoted).childNodes));
    } else if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[at + 1] ?? "") && lines[at + 1].includes("|")) {
      const [head, , ...rest] = take((l) => l.includes("|"));
      box.append(scrolled(h("table", {}, row("th", head), rest.map((l) => row("td", l)))));
    } else if (ITEM.test(line)) {
      box.append(list(take((l) => ITEM.test(l) || /^\s+\S/.test(l))));
    } else if (line.trim()) {
      at++;
      const more = take((l) => l.trim() && !/^\s*(```|~~~|#{1,6}\s|>)/.test(l) && !ITEM.test(l));
      box.append(auto("p", inline([line, ...more].join("\n"), MARKDOWN)));
    } else at++;
  }
  return box;
}

/** Lines of a list, nested by their indentation. */
function list(lines) {
  const [, margin, mark] = ITEM.exec(lines[0]);
  const ordered = /\d/.test(mark);
  const node = h(ordered ? "ol" : "ul", { start: ordered ? parseInt(mark) : null });
  for (let i = 0; i < lines.length; ) {
    const inner = [];
    const first = ITEM.exec(lines[i++])?.[3] ?? lines[i - 1].trim();
    while (i < lines.length && !(ITEM.exec(lines[i])?.[1].length <= margin.length)) inner.push(lines[i++]);
    const start = inner.findIndex((l) => ITEM.test(l));
    const own = start < 0 ? inner.splice(0) : inner.splice(0, start);
    const item = auto("li", inline([first, ...own.map((l) => l.trim())].join("\n"), MARKDOWN));
    if (inner.length) item.append(list(inner));
    node.append(item);
  }
  return node;
}

export const scrolled = (table) => h("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Table" }, table);

const RICH = {
  text: (e) => e.text,
  link: (e) => link(e.url, e.text || e.url),
  user: (e) => user(e.user_id),
  channel: (e) => channel(e.channel_id),
  usergroup: (e) => chip(`@${names.groups.get(e.usergroup_id) ?? e.usergroup_id}`),
  broadcast: (e) => chip(`@${e.range}`),
  date: (e) => date(e.timestamp, e.format, e.url),
  color: (e) => e.value,
  emoji: (e) => e.unicode ? String.fromCodePoint(...e.unicode.split("-").map((c) => parseInt(c, 16))) : EMOJI[e.name] ?? `:${e.name}:`,
};
const STYLES = { bold: "b", italic: "i", strike: "s", underline: "u", code: "code" };

const richInline = (elements) => elements.map((e) => {
  let node = RICH[e.type]?.(e) ?? `[${e.type}]`;
  for (const [style, tag] of Object.entries(STYLES)) if (e.style?.[style]) node = h(tag, {}, node);
  return node;
});

export function richText(block) {
  return h("div", { class: "text" }, block.elements.map((part) => {
    if (part.type === "rich_text_section") return auto("p", richInline(part.elements));
    if (part.type === "rich_text_preformatted") return auto("pre", richInline(part.elements));
    if (part.type === "rich_text_quote") return auto("blockquote", richInline(part.elements));
    const ordered = part.style === "ordered";
    const items = part.elements.map((section) => auto("li", richInline(section.elements)));
    return h(ordered ? "ol" : "ul", { class: `indent-${part.indent ?? 0}`, start: ordered ? (part.offset ?? 0) + 1 : null }, items);
  }));
}
