// Requests to the server, with every failure as a Problem that has kind words.

export class Problem extends Error {
  constructor({ detail, hint = "", code = "", status = 0 }) {
    super(detail);
    Object.assign(this, { hint, code, status });
  }
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "Turnwise cannot be reached.", hint: "Check that it is still running, then ask again." });
  }
  if (!response.ok) {
    const fallback = { detail: `The server answered with status ${response.status}.` };
    throw new Problem(await response.json().catch(() => fallback));
  }
  return response;
}

export async function get(path) {
  return (await request(path)).json();
}

// The events of one turn, as {event, data}.
export async function* ask(body, signal) {
  const response = await request("/api/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
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
  const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/s)));
  return fields.data ? { event: fields.event, data: JSON.parse(fields.data) } : null;
}
