// Calls of the JSON API for people: what a person can do, and what there is to see. Slack's are here, Discord's in discord.js.

export const name = "slack";
export const title = "Slack";
export const root = [];
export const privately = "Only visible to you";
export const noticeAbove = true; // Slack says so above a private message, Discord below it

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

export async function state() {
  const fresh = await call("state");
  return fresh.messages ? { ...fresh, status: doing(fresh) } : fresh;
}

/** What the bot does, thread by thread: its own words where it found some, else what its session says. */
function doing({ status, sessions }) {
  const words = { processing: "is working…", suspended: "is waiting for an answer" };
  const said = new Map(sessions.filter((one) => words[one.status]).map(({ channel, thread_ts, status: is, stoppable, stopping }) =>
    [`${channel}/${thread_ts}`, { channel, thread_ts, text: stopping ? "is stopping…" : words[is], waiting: is === "suspended", stoppable }]));
  for (const { channel, thread_ts, text, loading, left } of status) {
    const session = said.get(`${channel}/${thread_ts}`);
    if (session && (session.waiting || session.text === "is stopping…")) continue;
    said.set(`${channel}/${thread_ts}`, { ...session, channel, thread_ts, text: [text, loading[0]].filter(Boolean).join(" · "), left });
  }
  return [...said.values()];
}

export const where = (m) => ({ channel: m.channel, ts: m.ts });
export const write = ({ person, channel, text, root: thread_ts, files }) => call("write", { person, channel, text, files, ...(thread_ts && { thread_ts }) });
export const act = (body) => call("act", body);
export const options = (body) => call("options", body);
export const submit = (body) => call("submit", body);
export const dismiss = (person, { channel, ts }) => call("delete", { person, channel, ts });
export const close = (body) => call("close", body);
export const stop = (person, { channel, thread_ts }) => call("stop", { person, channel, thread_ts });

/** When to look again, in milliseconds: what the bot says that it does goes away by itself. */
export function stale({ status }) {
  const left = status.filter((one) => one.left !== undefined).map((one) => one.left);
  return left.length ? Math.min(...left) * 1000 + 100 : null;
}

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
