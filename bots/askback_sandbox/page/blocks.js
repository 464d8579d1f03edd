// Block Kit's blocks.
import { discordLine, discordText } from "./discord_text.js";
import { h, newId, reconcile } from "./dom.js";
import { element, picture } from "./elements.js";
import { markdown, mrkdwn, names, plainText, richText, scrolled, textObject } from "./text.js";

function input(block, ctx) {
  const hint = block.hint && h("div", { class: "hint", id: newId() }, textObject(block.hint));
  const mark = block.mark ?? (block.optional ? "(optional)" : "");
  const label = h("label", { id: newId() }, textObject(block.label), mark && h("span", { class: "optional", "aria-hidden": mark === "*" ? "true" : null }, mark));
  const error = h("div", { class: "error", role: "alert", id: newId() });
  const node = element(block.element, block, ctx);
  const control = node.control ?? node;
  control.id = label.htmlFor = newId();
  control.setAttribute("aria-labelledby", control.matches(".select") ? `${label.id} ${control.id}` : label.id);
  if (!block.optional && control === node.control) control.ariaRequired = "true";
  control.setAttribute("aria-describedby", [error.id, hint?.id, control.getAttribute("aria-describedby")].filter(Boolean).join(" "));
  return h("div", {}, label, node, error, hint);
}

function cell(content) {
  return content.type === "rich_text" ? richText(content) : plainText(`${content.text ?? content.value ?? ""}`, false);
}

function table({ rows, column_settings: columns = [] }) {
  const line = (row, tag) => h("tr", {}, row.map((content, i) =>
    h(tag, { class: `to-${columns[i]?.align ?? "left"}${columns[i]?.is_wrapped ? " wrapped" : ""}` }, cell(content))));
  return scrolled(h("table", {}, line(rows[0], "th"), rows.slice(1).map((row) => line(row, "td"))));
}

function container(block, ctx) {
  const title = [
    block.icon && picture(block.icon, "thumb"),
    h("div", { class: "titles" }, block.rich_text_title ? richText(block.rich_text_title) : plainText(block.title?.text ?? ""),
      block.subtitle && h("div", { class: "hint" }, textObject(block.subtitle))),
  ];
  const body = h("div", { class: "blocks" });
  drawBlocks(body, block.child_blocks, ctx);
  return block.is_collapsible
    ? h("details", { class: "frame", open: !block.default_collapsed }, h("summary", {}, title), body)
    : h("div", { class: `frame${block.has_header_divider ? " ruled" : ""}` }, h("div", { class: "head" }, title), body);
}

const KINDS = {
  input,
  table,
  container,
  section: (block, ctx) => h("div", {},
    h("div", { class: "words" },
      block.text && textObject(block.text),
      block.fields && h("div", { class: "fields" }, block.fields.map((field) => textObject(field)))),
    block.accessory && h("div", { class: "accessory" }, element(block.accessory, block, ctx))),
  actions: (block, ctx) => h("div", {}, block.elements
    .filter((el) => el.visible_to_user_ids?.includes(names.me) ?? true)
    .map((el) => element(el, block, ctx))),
  context: (block) => h("div", {}, block.elements.map((el) => (el.type === "image" ? picture(el, "tiny") : textObject(el)))),
  header: (block) => h("div", { role: "heading", "aria-level": 3 }, plainText(block.text.text, block.text.emoji !== false)),
  divider: () => h("div", { role: "separator" }),
  image: (block) => h("figure", {}, block.title && h("figcaption", { dir: "auto" }, block.title.text), picture(block, "wide")),
  markdown: (block) => h("div", {}, markdown(block.text)),
  rich_text: (block) => h("div", {}, richText(block)),
  files: (block) => h("ul", { "aria-label": "Files" }, block.files.map(({ name, size }) =>
    h("li", {}, h("span", { "aria-hidden": "true" }, "📎"), h("bdi", {}, name), h("span", { class: "hint" }, readable(size))))),
  shared: (block) => h("blockquote", {}, h("b", { dir: "auto" }, block.author), mrkdwn(block.text ?? "")),
  discord_forwarded: (block) => h("blockquote", {}, h("div", { class: "hint" }, "↱ Forwarded"), discordText(block.content)),
  discord_text: (block) => h("div", {}, discordText(block.content)),
  discord_reply: (block) => h("div", { dir: "auto" }, h("span", { "aria-hidden": "true" }, "↪ "), h("b", {}, block.name), " ", discordLine(block.content)),
  discord_gallery: (block) => h("div", {}, block.pictures.map((one) => picture(one, "wide"))),
  discord_gap: () => h("div"),
  discord_section: (block, ctx) => h("div", {},
    h("div", { class: "words" }, block.texts.map((text) => discordText(text))),
    h("div", { class: "accessory" }, element(block.accessory, block, ctx))),
  discord_container: (block, ctx) => {
    const node = h("div", { class: "frame" }, h("div", { class: "blocks" }, block.blocks.map((inner) => draw(inner, ctx, null))));
    if (block.accent !== null) node.style.borderInlineStart = `4px solid #${block.accent.toString(16).padStart(6, "0")}`;
    return node;
  },
};

/** A number of bytes as people read it. */
function readable(size) {
  const units = ["bytes", "KB", "MB", "GB"];
  const power = size < 1024 ? 0 : Math.min(Math.floor(Math.log2(size) / 10), units.length - 1);
  return `${(size / 1024 ** power).toLocaleString(undefined, { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

/** What a person entered outlives a change of the block, element by element, as in Slack's own client. */
function entered(old) {
  const elements = old?.dataset.entered ? [...old.querySelectorAll("[data-action]")].filter((node) => node.keep) : [];
  return Object.fromEntries(elements.map((node) => [node.dataset.action, node.keep()]));
}

function draw(block, ctx, old) {
  const kept = entered(old);
  const node = KINDS[block.type]?.(block, { ...ctx, kept }) ?? h("div", { class: "alt" }, `“${block.type}” is not drawn here`);
  node.classList.add("block", block.type);
  node.dataset.block = block.block_id ?? "";
  if (Object.keys(kept).length) node.dataset.entered = "true";
  for (const kind of ["input", "change", "click"]) node.addEventListener(kind, () => (node.dataset.entered = "true"));
  return node;
}

/** Draws `blocks` into `parent`; those that have not changed stay as they are. */
export function drawBlocks(parent, blocks, ctx) {
  const items = blocks.map((block, i) => ({ at: block.block_id ?? `#${i}`, block }));
  reconcile(parent, items, (item) => `${item.at}`, (item, old) => draw(item.block, ctx, old));
}

/** Everything entered in the blocks under `parent`: {block_id: {action_id: value}}. */
export function readBlocks(parent) {
  const values = {};
  for (const node of parent.querySelectorAll("[data-action]")) {
    if (node.read) (values[node.closest(".block").dataset.block] ??= {})[node.dataset.action] = node.read();
  }
  return values;
}
