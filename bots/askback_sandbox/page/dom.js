// Two helpers instead of a framework. Content becomes text nodes only; nothing in this page parses HTML.

/** An element: h("p", {class: "hint", onclick: f}, "text", node, null). */
export function h(tag, props, ...kids) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean" && name in node) node[name] = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value);
  }
  node.append(...kids.flat(Infinity).filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return node;
}

/**
 * Makes the children of `parent` be `items`, touching only what changed, so that focus, open menus, checked boxes
 * and half-written texts survive every refresh. `draw(item, old)` may mend and return the old node.
 */
export function reconcile(parent, items, key, draw) {
  const old = new Map([...parent.children].map((node) => [node.reconciled.key, node]));
  const keys = new Set(items.map(key));
  for (const [name, node] of old) if (!keys.has(name)) node.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    const json = JSON.stringify(item);
    let node = old.get(name);
    if (node?.reconciled.json !== json) {
      const fresh = draw(item, node);
      fresh.reconciled = { key: name, json };
      if (node && node !== fresh) {
        node.replaceWith(fresh);
        if (next === node) next = fresh;
      }
      node = fresh;
    }
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
}

let last = 0;
export const newId = () => `n${++last}`;
