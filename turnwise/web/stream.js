// A turn's events as they come, over connections that may break: it goes on where it was, and never asks twice.

import { conversationPath, get, Problem, request } from "./api.js";

const ENDS = new Set(["answer", "error"]);
const TRIES = 7; // after 0.4, 0.8 ... 25 seconds
const BROKE_OFF = { detail: "The answer broke off.", hint: "Check that Turnwise is still running.", code: "BrokeOff" };

export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const pause = (tries, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, 400 * 2 ** tries * (0.8 + 0.4 * Math.random()));
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });

// The server-sent events of a response, as {event, data, id}.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (waiting + value).split("\n\n");
    waiting = frames.pop();
    yield* frames.map(parse).filter(Boolean);
  }
}

function parse(frame) {
  const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: ?(.*)/s)));
  return fields.data ? { event: fields.event, data: JSON.parse(fields.data), id: fields.id } : null;
}

// Asks, and gives the turn's events. `event` is also "lost" and "found", when the connection goes and comes again, and
// "turn" where all that is left to read is the turn as it was kept.
export async function* ask(body, key, signal) {
  const question = {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    body: JSON.stringify(body),
    signal,
  };
  for (let tries = 0; ; tries += 1) {
    try {
      const response = await request("/api/chat", question);
      yield* lasting(response, { conversation: body.conversation_id }, signal);
      return;
    } catch (error) {
      const again = error.code === "Unreachable" || error.code === "RequestInFlight";
      if (!again || tries === TRIES) throw error;
      yield { event: "lost" };
      await pause(tries, signal);
    }
  }
}

// The events of a turn that somebody began elsewhere, or this page before it was loaded again.
export async function* follow(stream, place, signal) {
  const response = await request(`/api/streams/${encodeURIComponent(stream)}?after=0`, { signal });
  yield* lasting(response, { ...place, stream }, signal);
}

// Reads to the end of a turn, over as many connections as it takes.
async function* lasting(response, place, signal) {
  for (let tries = 0; ; ) {
    try {
      for await (const { event, data, id } of events(response)) {
        tries = 0;
        place.last = id ?? place.last;
        if (event === "accepted") Object.assign(place, { conversation: data.conversation_id, number: data.turn, stream: data.stream });
        yield { event, data };
        if (ENDS.has(event)) return;
      }
    } catch (error) {
      if (error.name === "AbortError" || error instanceof Problem) throw error;
    }
    if (!place.stream) throw new Problem(BROKE_OFF);
    yield { event: "lost" };
    [response, tries] = await resume(place, tries, signal);
    if (response === null) {
      yield { event: "turn", data: await kept(place, signal) };
      return;
    }
    yield { event: "found" };
  }
}

// A new connection to a stream; null where the server has none of it any more.
async function resume({ stream, last }, tries, signal) {
  for (; ; tries += 1) {
    await pause(tries, signal);
    try {
      const headers = last ? { "Last-Event-ID": last } : {};
      return [await request(`/api/streams/${encodeURIComponent(stream)}`, { headers, signal }), tries + 1];
    } catch (error) {
      if (error.status === 404) return [null, tries];
      if (error.code !== "Unreachable" || tries >= TRIES) throw error;
    }
  }
}

// The turn as the server keeps it, once it is over.
async function kept({ conversation, number }, signal) {
  for (let tries = 0; tries <= TRIES; tries += 1) {
    const turn = await get(conversationPath(conversation, `/turns/${number}`), { signal });
    if (turn.status !== "pending") return turn;
    await pause(tries, signal);
  }
  throw new Problem(BROKE_OFF);
}
