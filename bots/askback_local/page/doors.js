// The doors for people: what a person can do, and what there is to see. These are Slack's; Discord's stand beside them.

export const name = "slack";
export const title = "Slack";
export const root = [];
export const privately = "Only visible to you";

export async function call(path, body) {
  try {
    const reply = await fetch(`/people/${path}`, body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return await reply.json();
  } catch {
    return { ok: false, error: "The workspace did not answer. Is it still running?" };
  }
}

export const state = () => call("state");
export const where = (m) => ({ channel: m.channel, ts: m.ts });
export const write = ({ person, channel, text, root: thread_ts }) => call("write", { person, channel, text, ...(thread_ts && { thread_ts }) });
export const act = (body) => call("act", body);
export const options = (body) => call("options", body);
export const submit = (body) => call("submit", body);
export const close = (body) => call("close", body);
export const stale = () => null;

/** Calls `changed` on every change, and `gone(true | false)` when the workspace goes away or is back, until stopped. */
export function watch(...args) {
  const [path, changed, gone] = args.length === 3 ? args : ["events", ...args];
  let events, again;
  function open() {
    events = new EventSource(`/people/${path}`);
    events.onopen = () => (gone(false), changed());
    events.onmessage = changed;
    events.onerror = () => {
      gone(true);
      if (events.readyState === EventSource.CLOSED) again = setTimeout(open, 1000);
    };
  }
  open();
  return () => (clearTimeout(again), events.close());
}
