// Block Kit's interactive elements. Each is a node with `read()`, its value as the api want it, and
// `keep()`, the same as the initial value of the element that takes its place.
import { h, newId } from "./dom.js";
import { names, textObject } from "./text.js";

const plain = (object) => object?.text ?? "";

/** Says beside the control what went wrong with it. */
function problem(node, text) {
  const block = node.closest(".block");
  block?.querySelector(":scope > .problem")?.remove();
  if (text) block?.append(h("p", { class: "problem", role: "alert" }, `⚠ ${text}`));
}

/** Asks "are you sure?" as the element wants it asked. */
function confirmed({ title, text, confirm, deny, style }) {
  return new Promise((answer) => {
    const id = newId();
    const box = h("dialog", { class: "modal small", "aria-labelledby": id, onclose: () => (box.remove(), answer(box.returnValue === "yes")) },
      h("header", {}, h("h2", { id, dir: "auto" }, plain(title))),
      h("div", { class: "body" }, textObject(text)),
      h("footer", {},
        h("button", { type: "button", class: "button", onclick: () => box.close("no") }, plain(deny) || "Cancel"),
        h("button", { type: "button", class: `button ${style ?? "primary"}`, autofocus: true, onclick: () => box.close("yes") },
          plain(confirm) || "Yes")));
    document.body.append(box);
    box.showModal();
  });
}

/** Sends one action of `node`; true unless the person thought better of it. */
async function send(node, el, block, ctx, selected) {
  const body = { block_id: block.block_id, action_id: el.action_id, selected };
  if (block.type === "input" && !block.dispatch_action) return ctx.note(body), true;
  if (node.ariaBusy === "true") return true;
  if (el.confirm && !(await confirmed(el.confirm))) return false;
  node.ariaBusy = "true";
  problem(node, "");
  const reply = await ctx.act(body);
  node.ariaBusy = null;
  if (!reply.ok) problem(node, reply.error || "That did not work. Try again.");
  return true;
}

function button(el, block, ctx) {
  const node = h("button", {
    type: "button", class: `button ${el.style ?? ""}`, "aria-label": el.accessibility_label,
    async onclick() {
      if ((await send(node, el, block, ctx, null)) && /^https?:/i.test(el.url ?? "")) window.open(el.url, "_blank", "noopener");
    },
  }, h("bdi", {}, textObject(el.text)));
  return node;
}

const described = (option) => [
  h("span", { class: "label" }, textObject(option.text)),
  option.description && h("span", { class: "description" }, textObject(option.description)),
];

/** Checkboxes and radio buttons. */
function boxes(el, block, ctx) {
  const multi = el.type === "checkboxes";
  const chosen = (multi ? el.initial_options ?? [] : [el.initial_option]).map((option) => option?.value);
  const name = newId();
  const values = () => [...node.querySelectorAll("input:checked")].map((input) => input.value);
  let before = chosen;
  const node = h("div", { class: "boxes", role: multi ? "group" : "radiogroup" }, el.options.map((option) =>
    h("label", { class: "box" },
      h("input", { type: multi ? "checkbox" : "radio", name, value: option.value, checked: chosen.includes(option.value),
        "data-value": option.value }),
      h("span", {}, described(option)))));
  node.addEventListener("change", async () => {
    // What is ticked while a click is under way is sent after it, as it then stands.
    if (node.ariaBusy === "true") return;
    for (let sent = null; `${sent}` !== `${values()}` && node.isConnected; before = sent) {
      sent = values();
      if (await send(node, el, block, ctx, sent)) continue;
      for (const input of node.querySelectorAll("input")) input.checked = before.includes(input.value);
      return;
    }
  });
  node.read = () => (multi ? values() : values()[0] ?? null);
  node.keep = () => {
    const options = el.options.filter((option) => values().includes(option.value));
    return multi ? { initial_options: options } : { initial_option: options[0] };
  };
  return node;
}

/** Menus of every kind: one or several, with fixed options or asked for as one types; and the "⋯" menu. */
function menu(el, block, ctx) {
  const multi = el.type.startsWith("multi_");
  const external = el.type.includes("external");
  const overflow = el.type === "overflow";
  const groups = el.option_groups ?? [{ options: el.options ?? [] }];
  let chosen = multi ? el.initial_options ?? [] : el.initial_option ? [el.initial_option] : [];
  if (!external) chosen = chosen.filter((one) => groups.some((group) => group.options.some((option) => option.value === one.value)));
  let before = chosen;
  let rows = [];
  let current = -1;
  let question = 0;

  const opener = h("button", { type: "button", class: overflow ? "button more" : "select", "aria-haspopup": "listbox",
    "aria-expanded": "false", onclick: () => (pop.matches(":popover-open") ? pop.hidePopover() : open()), onkeydown(event) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") event.preventDefault(), open();
    } });
  const list = h("div", { role: "listbox", id: newId(), class: "options", "aria-multiselectable": multi ? "true" : null,
    tabindex: overflow ? 0 : -1, "aria-label": plain(el.placeholder) || "Options" });
  const search = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list",
    "aria-controls": list.id, "aria-label": "Search the options", placeholder: "Type to search", autocomplete: "off", dir: "auto" });
  const note = h("div", { class: "note", role: "status" });
  const keyed = overflow ? list : search;
  const pop = h("div", { class: "menu", popover: "auto" }, overflow ? null : search, list, note);
  const node = h("div", { class: "picker" }, opener, pop);

  const has = (option) => chosen.some((other) => other.value === option.value);
  const values = () => chosen.map((option) => option.value);
  function label() {
    if (overflow) return opener.replaceChildren(h("span", { "aria-hidden": "true" }, "⋯"), h("span", { class: "sr" }, "More actions"));
    opener.classList.toggle("empty", !chosen.length);
    opener.replaceChildren(...(chosen.length
      ? chosen.map((option) => h("span", { class: multi ? "token" : "" }, textObject(option.text)))
      : [h("span", { dir: "auto" }, plain(el.placeholder) || (multi ? "Choose options" : "Choose an option"))]));
  }
  function point(index, scroll = true) {
    current = Math.max(-1, Math.min(index, rows.length - 1));
    rows.forEach(({ node: row }, i) => row.classList.toggle("current", i === current));
    keyed.setAttribute("aria-activedescendant", rows[current]?.node.id ?? "");
    if (scroll) rows[current]?.node.scrollIntoView({ block: "nearest" });
  }
  function show(found, empty) {
    rows = [];
    list.replaceChildren(...found.filter((group) => group.options.length).map((group) => {
      const items = group.options.map((option) => {
        const at = rows.length;
        const row = h("div", { role: "option", id: newId(), class: "option", "aria-selected": `${has(option)}`, "data-value": option.value,
          onclick: () => pick(option), onpointermove: () => current === at || point(at, false) }, described(option));
        rows.push({ node: row, option });
        return row;
      });
      const id = newId();
      return group.label ? h("div", { role: "group", "aria-labelledby": id }, h("div", { class: "group", id }, plain(group.label)), items) : items;
    }).flat());
    note.textContent = rows.length ? "" : empty;
    point(rows.findIndex(({ option }) => has(option)) < 0 || search.value ? 0 : rows.findIndex(({ option }) => has(option)));
  }
  async function look() {
    const query = search.value.trim();
    const mine = ++question;
    if (!external) {
      const words = query.toLocaleLowerCase();
      const fits = (option) => `${plain(option.text)} ${plain(option.description)}`.toLocaleLowerCase().includes(words);
      return show(groups.map((group) => ({ ...group, options: group.options.filter(fits) })), "Nothing fits.");
    }
    if (query.length < (el.min_query_length ?? 3)) return show([], `Type ${el.min_query_length ?? 3} or more characters.`);
    note.textContent = "Searching…";
    await new Promise((resume) => setTimeout(resume, query ? 200 : 0)); // asked when the typing rests
    if (mine !== question) return;
    const reply = await ctx.options({ block_id: block.block_id, action_id: el.action_id, query });
    if (mine === question) show(reply.option_groups ?? [{ options: reply.options ?? [] }], reply.ok ? "Nothing fits." : `⚠ ${reply.error}`);
  }
  async function settle() {
    if (`${values()}` === `${before.map((option) => option.value)}` && !overflow) return;
    if (!(await send(opener, el, block, ctx, values()))) chosen = before;
    if (overflow) chosen = [];
    before = chosen;
    label();
  }
  function pick(option) {
    if (multi) {
      if (has(option)) chosen = chosen.filter((other) => other.value !== option.value);
      else if (chosen.length < (el.max_selected_items ?? Infinity)) chosen = [...chosen, option];
      else return void (note.textContent = `At most ${el.max_selected_items} can be chosen.`);
      note.textContent = "";
      rows.forEach(({ node: row, option: other }) => row.setAttribute("aria-selected", `${has(other)}`));
      return label();
    }
    chosen = [option];
    label();
    pop.hidePopover();
  }
  function open() {
    if (opener.ariaBusy === "true" || pop.matches(":popover-open")) return;
    search.value = "";
    pop.showPopover();
    look();
    place();
    keyed.focus();
  }
  function place() {
    const at = opener.getBoundingClientRect();
    const below = innerHeight - at.bottom - 12;
    const up = below < Math.min(260, pop.scrollHeight) && at.top > below;
    const width = Math.min(Math.max(at.width, 280), innerWidth - 16);
    Object.assign(pop.style, { width: `${width}px`, maxHeight: `${(up ? at.top : below) - 8}px`,
      left: `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`,
      top: up ? "auto" : `${at.bottom + 4}px`, bottom: up ? `${innerHeight - at.top + 4}px` : "auto" });
  }
  keyed.addEventListener("keydown", (event) => {
    const to = { ArrowDown: current + 1, ArrowUp: Math.max(0, current - 1), PageDown: current + 8, PageUp: Math.max(0, current - 8),
      ...(overflow && { Home: 0, End: rows.length - 1 }) }[event.key];
    if (to !== undefined) point(to);
    else if (event.key === "Enter" && rows[current] && !event.isComposing) pick(rows[current].option);
    else if (event.key === "Tab") return pop.hidePopover(), opener.focus();
    else return;
    event.preventDefault();
  });
  search.addEventListener("input", look);
  pop.addEventListener("toggle", (event) => {
    opener.ariaExpanded = `${event.newState === "open"}`;
    if (event.newState !== "closed") return;
    question++;
    if (document.activeElement === document.body) opener.focus();
    settle();
  });
  pop.place = place;
  node.read = () => (multi ? values() : values()[0] ?? null);
  node.keep = () => (multi ? { initial_options: chosen } : { initial_option: chosen[0] });
  node.control = opener;
  label();
  return node;
}

/** Slack's own pickers: a menu with the people or the channels of the workspace. */
function picker(el, block, ctx) {
  const multi = el.type.startsWith("multi_");
  const [offered, field] = el.type.endsWith("users_select") ? [names.people, "initial_user"] : [names.conversations, "initial_conversation"];
  const entries = offered.filter(({ kind }) => !kind || !el.filter?.include || el.filter.include.includes(kind));
  const options = entries.map(({ id, name }) => ({ text: { type: "plain_text", text: name }, value: id }));
  const chosen = [multi ? el[`${field}s`] ?? [] : el[field]].flat().map((id) => options.find(({ value }) => value === id)).filter(Boolean);
  const node = menu({ ...el, type: multi ? "multi_static_select" : "static_select", options,
    ...(multi ? { initial_options: chosen } : { initial_option: chosen[0] }) }, block, ctx);
  const read = node.read;
  node.keep = () => ({ [multi ? `${field}s` : field]: read() });
  return node;
}

const placeOpen = () => document.querySelector(".menu:popover-open")?.place();
addEventListener("resize", placeOpen);
addEventListener("scroll", placeOpen, true);

function textInput(el, block, ctx) {
  const field = h(el.multiline ? "textarea" : "input", {
    type: el.multiline ? null : "text", rows: el.multiline ? 4 : null, dir: "auto", class: "field", autocomplete: "off",
    placeholder: plain(el.placeholder), value: el.initial_value ?? "", "aria-describedby": newId(),
    onkeydown(event) {
      if (event.key === "Enter" && !event.isComposing && !el.multiline) {
        event.preventDefault();
        if (ctx.submit && !block.dispatch_action) ctx.submit();
        else send(field, el, block, ctx, [field.value]);
      }
    },
    onchange: () => block.dispatch_action || send(field, el, block, ctx, [field.value]),
    oninput: count,
  });
  // A text that is too long is not cut but counted, so that nobody's words vanish while they paste.
  const left = h("span", { class: "count", id: field.getAttribute("aria-describedby"), role: "status" });
  function count() {
    const over = [...field.value].length - (el.max_length ?? Infinity);
    left.textContent = over > -100 ? `${-over}` : "";
    left.classList.toggle("over", over > 0);
  }
  const node = h("div", { class: "written" }, field, left);
  count();
  node.read = () => field.value;
  node.keep = () => ({ initial_value: field.value });
  node.control = field;
  return node;
}

/** A date and a time in the time zone of the browser; Slack's state holds seconds. */
function timePicker(el, block, ctx) {
  const local = (seconds) => {
    const at = new Date(seconds * 1000);
    return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  };
  const field = h("input", { type: "datetime-local", class: "field", value: el.initial_date_time ? local(el.initial_date_time) : "" });
  const seconds = () => (field.value ? `${Math.floor(new Date(field.value) / 1000)}` : "");
  field.addEventListener("change", () => send(field, el, block, ctx, seconds() ? [seconds()] : []));
  const node = h("div", { class: "written" }, field);
  node.read = () => seconds() || null;
  node.keep = () => ({ initial_date_time: Number(seconds()) || undefined });
  node.control = field;
  return node;
}

/** The field for files. Their contents are read as soon as they are chosen. */
function fileInput(el, block, ctx) {
  let files = el.initial_files ?? [];
  const most = el.max_files ?? 10;
  const field = h("input", { type: "file", class: "field", multiple: most > 1, accept: el.filetypes?.map((suffix) => `.${suffix}`).join(",") ?? null,
    onchange() {
      problem(field, field.files.length > most ? `At most ${most} can be chosen.` : "");
      field.reading = Promise.all([...field.files].slice(0, most).map(readFile)).then((read) => (files = read, show()));
    } });
  const chips = h("ul", { class: "chips", "aria-label": "Files to send" });
  const show = () => chips.replaceChildren(...files.map(({ name }) => h("li", {}, h("bdi", {}, name))));
  const node = h("div", { class: "written files" }, field, chips);
  show();
  node.read = () => files;
  node.keep = () => ({ initial_files: files });
  node.control = field;
  return node;
}

/** The name, the size and the content of a file that a person chose, as the api want them. */
export async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { name: file.name, size: file.size, ...(file.type && { type: file.type }), base64: btoa(text) };
}

const LINES = { number_input: "number", email_text_input: "email", url_text_input: "url", datepicker: "date", timepicker: "time" };

/** A number, an address of mail, a URL, a date or a time: one line with the browser's own help. */
function lineInput(el, block, ctx) {
  const field = h("input", { type: LINES[el.type], class: "field", autocomplete: "off", placeholder: plain(el.placeholder),
    value: el.initial_value ?? el.initial_date ?? el.initial_time ?? "", min: el.min_value, max: el.max_value,
    step: el.type === "number_input" ? (el.is_decimal_allowed ? "any" : "1") : null,
    onchange: () => block.dispatch_action || send(field, el, block, ctx, field.value ? [field.value] : []) });
  const node = h("div", { class: "written" }, field);
  node.read = () => field.value || null;
  node.keep = () => ({ [{ datepicker: "initial_date", timepicker: "initial_time" }[el.type] ?? "initial_value"]: field.value });
  node.control = field;
  return node;
}

const image = (el) => picture(el, "thumb");

/** An image. Where it cannot be loaded, its words stand in a frame; a large one names its address, too. */
export function picture({ image_url: src, slack_file: file, alt_text: alt }, kind) {
  const words = () => h("span", { class: `alt ${kind}`, role: "img", "aria-label": alt || "image" }, h("bdi", {}, alt || "image"),
    kind === "wide" && h("small", {}, "This picture did not load: ", h("bdi", {}, src ?? file?.url ?? "")));
  const node = h("img", { src: src ?? file?.url ?? "data:,", alt, class: kind, referrerpolicy: "no-referrer",
    onerror: () => node.replaceWith(words()) });
  return node;
}

/** Discord's single box: yes or no. */
function checkbox(el) {
  const box = h("input", { type: "checkbox", checked: el.checked });
  const node = h("label", { class: "box" }, box, h("span", {}, "Yes"));
  node.read = () => box.checked;
  node.keep = () => ({ checked: box.checked });
  node.control = box;
  return node;
}

const KINDS = {
  button, image, discord_checkbox: checkbox, checkboxes: boxes, radio_buttons: boxes, overflow: menu, static_select: menu, multi_static_select: menu,
  external_select: menu, multi_external_select: menu, plain_text_input: textInput, datetimepicker: timePicker,
  users_select: picker, multi_users_select: picker, conversations_select: picker, multi_conversations_select: picker,
  file_input: fileInput, number_input: lineInput, email_text_input: lineInput, url_text_input: lineInput, datepicker: lineInput,
  timepicker: lineInput,
};

/** The node of one element. */
export function element(el, block, ctx) {
  const node = KINDS[el.type]?.({ ...el, ...ctx.kept?.[el.action_id] }, block, ctx) ?? h("span", { class: "alt" }, `“${el.type}” is not drawn here`);
  node.dataset.action = el.action_id ?? "";
  if (el.disabled) (node.control ?? node).disabled = true;
  return node;
}
