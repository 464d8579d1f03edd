// What an empty channel offers: messages to send with a click, and the command that asks from a script.
import { h } from "./dom.js";

/** Fills `node` once. `ask` sends a message to the bot. */
export function drawStart(node, { model, suggestions, commands, deaf }, { site, other, channel, ask, others }) {
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
    h("p", {}, "View this as ", others.map(({ name, href }, i) => [i ? " or " : "", h("a", { href }, name)]), ", here or in a second window. You can change under “You are” later. ",
      `The same bot is in ${other.title}, too: choose it above the channels.`),
    h("h3", {}, "Ask from a script"),
    h("p", {}, "Two people approve. Run this in another shell, then answer here as ada and as ben. Your own program needs the same variables."),
    script(commands[site.name]),
    h("h3", {}, "Look behind a card"),
    h("p", {}, "At the right of each card are ", h("b", {}, "JSON"), ", the message that the bot posted, and ", h("b", {}, "Result"), ", what the model was told. By keyboard: arrow keys go from message to message, Alt+J and Alt+R open the two."));
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
