// Discord's Markdown as DOM nodes: what its client draws, and nothing that its client would not.
import { h } from "./dom.js";
import { auto, date, inline, link, names } from "./text.js";

const chip = (text, mine) => h("bdi", { class: `mention${mine ? " me" : ""}` }, text);
const TIMES = { t: "{time}", T: "{time_secs}", d: "{date_digits}", D: "{date}", f: "{date} {time}", F: "{date_long} {time}", s: "{date_digits}, {time}", S: "{date_digits}, {time_secs}", R: "{ago}" };

/** What stands between < and >: mentions, times, emoji, links without a preview. */
function angle([whole, inside]) {
  const id = inside.replace(/^\D+/, "");
  if (/^@!?\d/.test(inside)) return chip(`@${names.users.get(id) ?? id}`, id === names.me);
  if (/^@&/.test(inside)) return chip(`@${names.roles.get(id) ?? id}`, names.myRoles.includes(id));
  if (/^#/.test(inside)) return chip(`#${names.channels.get(id) ?? id}`);
  if (/^https?:/.test(inside)) return link(inside, inside);
  if (/^a?:/.test(inside)) return `:${inside.split(":")[1]}:`;
  const [, seconds, style] = inside.split(":");
  // Discord shows what is no date as it stands.
  return Math.abs(+seconds) < 8.64e12 ? h("span", { class: "stamp" }, date(+seconds, TIMES[style] ?? TIMES.f)) : whole;
}

function spoiler([, text], rules) {
  const node = h("span", { class: "spoiler", role: "button", tabindex: 0, "aria-label": "Spoiler, press to reveal",
    onclick: reveal, onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), reveal()) },
  inline(text, rules));
  function reveal() {
    node.classList.add("shown");
    node.removeAttribute("role");
    node.removeAttribute("aria-label");
  }
  return node;
}

const styled = (...tags) => (match, rules) => tags.reduceRight((kids, tag) => h(tag, {}, kids), inline(match[1], rules));
const ANGLE = /<(@!?\d{1,20}|@&\d{1,20}|#\d{1,20}|t:-?\d{1,17}(?::[tTdDfFsSR])?|a?:\w{2,32}:\d{1,20}|https?:\/\/[^>\s]+)>/y;
const RULES = [
  [/\\([^\p{L}\p{N}\s])/uy, false, (m) => m[1]],
  [/(`+)(?!`)([^]*?[^`])\1(?!`)/y, false, (m) => h("code", {}, m[2].replace(/^ ?([^]*?) ?$/, "$1"))],
  [ANGLE, false, angle],
  [/\[([^\]\n]+)\]\(<?(https?:\/\/[^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*)>?\)/y, false, (m, rules) => link(m[2], inline(m[1], rules))],
  [/\|\|([^]+?)\|\|/y, false, spoiler],
  [/\*\*\*(?!\s)([^]*?\S)\*\*\*(?!\*)/y, false, styled("b", "i")],
  [/\*\*(?!\s)([^]*?\S)\*\*(?!\*)/y, false, styled("b")],
  [/__(?!\s)([^]*?\S)__(?!_)/y, false, styled("u")],
  [/\*(?![\s*])((?:[^*]|\*\*[^*]+\*\*)*?[^\s*])\*(?!\*)/y, false, styled("i")],
  [/_(?![\s_])([^_]*[^\s_])_(?![\p{L}\p{N}_])/uy, true, styled("i")],
  [/~~(?!\s)([^]*?\S)~~/y, false, styled("s")],
  [/https:\/\/discord\.com\/channels\/(?:\d+|@me)\/(\d+)\/\d+/y, true, (m) => link(m[0], chip(`#${names.channels.get(m[1]) ?? "unknown"} › 💬`))],
  [/https?:\/\/[^\s<>]*[^\s<>.,;:!?)'"*_~|\]]/y, true, (m) => link(m[0], m[0])],
];

const ITEM = /^( *)([-*]|\d{1,9}\.) +(\S.*)$/;
const SPECIAL = /^(>>> |> |#{1,3} +\S|-# +\S)/;

/** One list, nested by how far its lines are moved in. */
function list(lines) {
  const [, margin, mark] = ITEM.exec(lines[0]);
  const ordered = /\d/.test(mark);
  const node = h(ordered ? "ol" : "ul", { start: ordered ? parseInt(mark) : null });
  for (let i = 0; i < lines.length; ) {
    const own = ITEM.exec(lines[i++])[3];
    const inner = [];
    while (i < lines.length && ITEM.exec(lines[i])[1].length > margin.length) inner.push(lines[i++]);
    node.append(auto("li", inline(own, RULES)));
    if (inner.length) node.lastChild.append(list(inner));
  }
  return node;
}

function words(text) {
  const lines = text.split("\n");
  const nodes = [];
  const take = (test) => {
    const from = at;
    while (at < lines.length && test(lines[at])) at++;
    return lines.slice(from, at);
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if (line.startsWith(">>> ")) {
      nodes.push(h("blockquote", {}, words([line.slice(4), ...lines.slice(at + 1)].join("\n"))));
      break;
    } else if (line.startsWith("> ")) {
      nodes.push(h("blockquote", {}, words(take((l) => l.startsWith("> ") || l === ">").map((l) => l.slice(2)).join("\n"))));
    } else if ((match = /^(#{1,3}) +(.*)$/.exec(line)) && match[2]) {
      nodes.push(auto("div", inline(match[2], RULES), { class: `heading level-${match[1].length}`, role: "heading", "aria-level": 3 }));
      at++;
    } else if ((match = /^-# +(.+)$/.exec(line))) {
      nodes.push(auto("div", inline(match[1], RULES), { class: "subtext" }));
      at++;
    } else if (ITEM.test(line)) {
      const [, margin, mark] = ITEM.exec(line);
      const same = ([, itsMargin, its]) => itsMargin.length > margin.length || /\d/.test(its) === /\d/.test(mark);
      nodes.push(list(take((l) => ITEM.test(l) && same(ITEM.exec(l)))));
    } else {
      const plain = take((l) => !SPECIAL.test(l) && !ITEM.test(l)).join("\n");
      if (plain.trim()) nodes.push(auto("p", inline(plain.replace(/^\n+|\n+$/g, ""), RULES)));
    }
  }
  return nodes;
}

/** One line without what only makes sense on its own line. */
export const discordLine = (line) => inline(line.replace(/^(>>> |> |#{1,3} +|-# +|[-*] +)/, ""), RULES);

/** A text in Discord's Markdown. */
export function discordText(content) {
  const box = h("div", { class: "text" });
  content.replace(/\r\n?/g, "\n").split(/```(?:[a-z0-9_+\-.#]*\n)?([^]*?[^`\s][^]*?)```/i).forEach((part, i) => {
    if (i % 2) box.append(auto("pre", part.replace(/^\n|\n$/g, "")));
    else if (part.trim()) box.append(...words(part.replace(/^\n|\n$/g, "")));
  });
  return box;
}
