// What stands behind a message of the bot, each behind a word at its right: the JSON that was posted, and the result
// that the model got for a card. The words appear with the pointer or the focus. The Tab key passes them by, so that
// people go from control to control; Alt+J and Alt+R open them in the message that has the focus.
import { call } from "./api.js";
import { h } from "./dom.js";

/** What is known of the names of messages: null for those that are no cards. */
const known = new Map();
const mayChange = (name) => !known.has(name) || (known.get(name)?.by === "model" && !known.get(name).result);

/** Asks about the cards among these messages; true if something new was found. */
export async function learn(messages) {
  const names = [...new Set(messages.filter((m) => m.bot && m.posted_as).map((m) => m.posted_as))].filter(mayChange);
  const before = JSON.stringify(names.map(told));
  for (let at = 0; at < names.length; at += 500) {
    const some = names.slice(at, at + 500);
    const { asks } = await call("results", { names: some });
    if (asks) for (const name of some) known.set(name, asks[name] ?? null);
  }
  return JSON.stringify(names.map(told)) !== before;
}

/** What is known of the card that was posted under that name; null if it is no card. */
export const told = (name) => known.get(name) ?? null;

/** The panels of a message, as nodes; `learned` is called when what is known has changed. */
export function drawPanels(node, posted, result, learned) {
  node.panels ??= begin(node, learned);
  const { json, outcome } = node.panels;
  json.value = posted;
  outcome.value = result;
  return [json, outcome].filter(({ value }) => value && value.length !== 0).map((panel) => (panel.show(), panel.details));
}

function begin(node, learned) {
  const json = panel("posted", "JSON", "What was posted (Alt+J)", (value) => [code("The JSON that was posted", JSON.stringify(value, null, 2))]);
  const outcome = panel("result", "Result", "What the model got (Alt+R)", describe);
  outcome.details.addEventListener("toggle", async () => {
    if (outcome.details.open && (await learn([{ bot: true, posted_as: outcome.value.name }]))) learned();
  });
  const keys = { KeyJ: json, KeyR: outcome };
  node.addEventListener("keydown", (event) => {
    const asked = event.altKey && keys[event.code];
    if (!asked || !asked.details.isConnected) return;
    event.preventDefault();
    asked.details.open = !asked.details.open;
  });
  return { json, outcome };
}

function panel(kind, word, title, describe) {
  const body = h("div", { class: "panel" });
  const details = h("details", { class: kind, ontoggle: () => made.show() }, h("summary", { tabindex: -1, title }, word), body);
  let drawn = null;
  const made = { details, value: null, show() {
    const json = details.open ? JSON.stringify(made.value) : null;
    if (json === drawn) return;
    drawn = json;
    body.replaceChildren(...(json ? describe(made.value) : []));
  } };
  return made;
}

const code = (label, text) => h("pre", { tabindex: 0, role: "group", "aria-label": label }, text);
const note = (...kids) => h("p", { class: "hint" }, ...kids);

/** Only what passed through the services: the blocks of the model's call and of its result. */
function describe({ by, call: asked, result }) {
  if (by === "program") return [note("A program asked this, and it got the outcome from its own database: no model did, and this page does not see it. ", h("code", {}, "askback ask"), " prints it as JSON.")];
  if (!asked) return [note("The model's requests did not pass through this page: a real model asked this, or an earlier run did.")];
  const who = ["The model called ", h("code", {}, asked.name)];
  if (!result) return [note(...who, " and waits: the call has no result yet.")];
  const parts = [result.content ?? []].flat();
  const text = parts.map((part) => part.text ?? part).map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("\n");
  return [note(...who, result.is_error ? " and was told, as an error:" : " and was told:"), code("What the model was told", text),
    note("The block in its request:"), code("The tool_result block", JSON.stringify(result, null, 2))];
}
