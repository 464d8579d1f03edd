// Modals as native dialogs: Slack's views, and Discord's modals in their shape.
import { drawBlocks, readBlocks } from "./blocks.js";
import { h, newId, reconcile } from "./dom.js";

const FOCUSABLE = "a[href], button, input, textarea, summary, [tabindex='0']";
const root = h("div", { id: "views" });
document.body.append(root);

/** Opens, mends and closes modals until they are those of `person`; those of the others keep what was typed. */
export function drawViews(items, person, acting, site) {
  reconcile(root, items, (item) => `${site.name}/${item.person}/${item.view.id}`, (item, old) => draw(item, old, acting, site));
  for (const box of root.children) {
    const mine = box.person === person;
    if (box.open === mine || box.closing) continue;
    box.leaving = !mine;
    if (!mine) box.close();
    else {
      box.showModal();
      (fields(box)[0] ?? box.querySelector("[type=submit]") ?? box.querySelector("button")).focus();
    }
  }
}

const seen = (node) => node.checkVisibility({ visibilityProperty: true });
const fields = (box) => [...box.querySelectorAll(":is(.input .field, .input .select, .input .box input)")].filter(seen);

function draw({ view, person, errors }, old, acting, site) {
  const box = old ?? build(person);
  box.view = view;
  box.heading.replaceChildren(view.title?.text ?? "");
  box.cancel.textContent = view.close?.text ?? "Cancel";
  box.send.textContent = view.submit?.text ?? "Submit";
  box.send.hidden = !view.submit;
  box.api ??= { ...acting({ person, view_id: view.id }), submit: () => submit(box) };
  box.site ??= site;
  drawBlocks(box.body, view.blocks, box.api);
  showErrors(box, errors ?? {});
  return box;
}

function build(person) {
  const id = newId();
  const title = h("h2", { id, dir: "auto" });
  const body = h("div", { class: "body blocks" });
  const cancel = h("button", { type: "button", class: "button", onclick: () => box.close("") });
  const send = h("button", { type: "submit", class: "button primary" });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", { novalidate: "", onsubmit: (event) => (event.preventDefault(), submit(box)) },
    h("header", {}, title, h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => box.close("all") }, "✕")),
    body,
    h("footer", {}, problem, cancel, send));
  const box = h("dialog", { class: "modal", "aria-labelledby": id, onkeydown: keys, async onclose(event) {
    if (event.target !== box || box.leaving) return;
    box.closing = true; // what is drawn before the workspace knows of it does not open it again
    const reply = await box.site.close({ person, view_id: box.view.id, clear: box.returnValue === "all" });
    if (reply.ok) return;
    box.closing = false;
    if (box.isConnected) box.showModal(), (problem.textContent = `⚠ ${reply.error}`);
  } }, form);
  return Object.assign(box, { person, heading: title, body, cancel, send, problem });
}

function keys(event) {
  const box = event.currentTarget;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return event.preventDefault(), submit(box);
  if (event.key !== "Tab") return;
  const stops = [...box.querySelectorAll(FOCUSABLE)].filter((node) => seen(node) && node.tabIndex >= 0);
  const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
  if (document.activeElement === from) event.preventDefault(), to.focus();
}

function showErrors(box, errors) {
  for (const block of box.body.querySelectorAll(".block.input")) {
    const text = errors[block.dataset.block] ?? "";
    block.querySelector(":scope > .error").textContent = text;
    const node = block.querySelector("[data-action]");
    (node.control ?? node).ariaInvalid = text ? "true" : null;
  }
}

async function submit(box) {
  if (box.send.hidden || box.send.ariaBusy === "true") return;
  box.problem.textContent = "";
  box.send.ariaBusy = "true";
  await Promise.all([...box.body.querySelectorAll("input[type=file]")].map((field) => field.reading));
  const reply = await box.site.submit({ person: box.person, view_id: box.view.id, values: readBlocks(box.body) });
  box.send.ariaBusy = null;
  showErrors(box, reply.errors ?? {});
  if (!reply.ok && !reply.errors) box.problem.textContent = `⚠ ${reply.error || "That did not work. Try again."}`;
  const wrong = box.body.querySelector("[aria-invalid=true]");
  (wrong?.matches("[role]") ? wrong.querySelector("input") : wrong)?.focus();
}
