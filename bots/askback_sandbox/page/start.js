// What an empty channel offers: messages to send with a click, and the command that asks from a script.
import { h } from "./dom.js";

/** Fills `node` once. `ask` sends a message to the bot. */
export function drawStart(node, { model, suggestions, commands, deaf }, { site, other, channel, ask }) {
  if (node.drawn) return;
  node.drawn = true;
  if (deaf.includes(channel.id)) {
    node.append(h("h3", {}, "The bot is not in this channel"), h("p", {}, "It hears nothing here. Choose another channel."));
    return;
  }
  const tries = suggestions.map(({ title, about, text }) => h("li", {},
    h("button", { type: "button", class: "try", onclick: () => ask(text) }, h("b", {}, title), h("span", { class: "description" }, about))));
  node.append(
    h("h3", {}, "Let the agent ask you"),
    h("p", {}, tries.length ? `${model ? `The agent's model is ${model}.` : "A scripted model plays the agent."} Choose its question:` : "Write to the bot, and it answers."),
    tries.length > 0 && h("ul", { class: "tries" }, tries),
    h("h3", {}, "Answer as somebody else"),
    h("p", {}, "Choose another account under “You are”. In a second window, you can be two people at once. ",
      `The same works in ${other.title}: choose it above the channels.`),
    h("h3", {}, "Ask from a script"),
    h("p", {}, "Two people approve. Run this in a shell, then answer as ada and as ben:"),
    script(commands[site.name]));
}

function script(command) {
  const said = h("span", { role: "status", class: "hint" });
  const code = h("pre", { tabindex: 0, role: "region", "aria-label": "Command" }, command);
  const copy = h("button", { type: "button", class: "button", async onclick() {
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(code);
      said.textContent = "The browser does not let this page copy: the text is selected.";
    }
  } }, "Copy");
  return h("div", { class: "script" }, code, h("div", { class: "row" }, copy, said));
}
