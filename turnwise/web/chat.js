// Asking: a question goes out, its turn is shown as it comes, and can be stopped, asked again or asked otherwise.

import { conversationPath, Problem, send as request } from "./api.js";
import { attaching, takeImages } from "./attach.js";
import { address, current, grown, inOrder, remember, toEnd } from "./current.js";
import { announce, at, toast } from "./dom.js";
import { keepDraft } from "./draft.js";
import { closeSource } from "./panel.js";
import { forReaders } from "./readers.js";
import { showStanding } from "./standing.js";
import { ask, newKey } from "./stream.js";
import { TurnView } from "./turn.js";

const mouse = matchMedia("(hover: hover)"); // elsewhere a focus we set would bring up the keyboard

const FUTILE = [400, 413, 422]; // what was sent is at fault: the same again would be refused again

// What the buttons of a turn do.
export const host = {
  id: () => current.id,
  send,
  grown,
  reword,
  addressOf: (view) => location.origin + location.pathname + address(current.id, view.number),
  isBusy,
  again(view) {
    if (isBusy()) return;
    if (!view.number) view.element.remove(); // it never arrived: the same request again, under the same key
    send(view.message, { ...view.sent, key: view.number ? undefined : view.key });
  },
  // The last turn is asked again in a branch, so that no question stands twice; an earlier one at the end.
  searchFor(view, query) {
    if (isLast(view)) branch(view.number, [view.message, { query }]);
    else send(view.message, { query });
  },
  consequence: (view) =>
    isLast(view)
      ? "The question is asked again in a branch. This answer stays in the conversation it is in, among your conversations."
      : "The question is asked again at the end of this conversation.",
  branchAt: (view, text) => branch(view.number, [text, {}]),
  branchAfter: (view) => branch(view.number + 1, null),
};

function isLast(view) {
  return view.element === at("turns").lastElementChild;
}

async function branch(turn, next) {
  try {
    const from = current.id;
    const { id } = await request("POST", conversationPath(from, "/branch"), { turn });
    if (turn === 1 && next) await request("PATCH", conversationPath(id), { title: next[0].slice(0, 80) }); // it begins otherwise
    current.next = next;
    location.hash = address(id);
    dispatchEvent(new Event("conversations"));
    const said = next
      ? "Asked in a branch. The earlier answer stays where it was."
      : "This is a branch. What you ask here leaves the other conversation as it is.";
    if (await toast(said, "Go back to it", 7)) location.hash = address(from);
  } catch (error) {
    if (error.status === 404 && next) return send(...next); // a conversation that is not kept has no branches
    toast(forReaders([error.message, error.hint].filter(Boolean).join(" ")));
  }
}

// Asks in the conversation that is shown. `query` is what to search for instead of what would be worked out.
export async function send(text, { query, images, key = newKey() } = {}) {
  if (!text.trim() || isBusy()) return;
  images ??= takeImages();
  const view = new TurnView(text, host, { images });
  Object.assign(view, { key, sent: { query, images } });
  at("welcome").hidden = at("notice").hidden = true;
  closeSource();
  for (const old of document.querySelectorAll(".turn.gone")) old.remove(); // of a conversation that was deleted
  at("turns").append(view.element);
  toEnd();
  const collection = at("collection").value;
  const body = {
    message: text,
    conversation_id: current.id ?? undefined,
    condensed_query: query,
    ...(collection ? { filter: { collections: [collection] } } : {}),
    ...(images.length ? { images: images.map(({ name, data }) => ({ name, data })) } : {}),
  };
  const coming = attaching(current.id);
  await play(view, (signal) => (coming ? askWith(coming, body, key, signal) : ask(body, key, signal)));
}

// Asks when what is being attached is there: before, the question would not be answered from it.
async function* askWith(coming, body, key, signal) {
  yield { event: "waits", data: "Reading what you attached" };
  await Promise.race([coming, aborted(signal)]);
  yield { event: "waits", data: "" };
  yield* ask(body, key, signal);
}

function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

// Whether an answer is still being given; then it is said why nothing else can be asked.
export function isBusy() {
  if (!current.playing.length) return false;
  toast("An answer is still being given. Ask this when it has ended, or stop it.");
  return true;
}

// Shows a turn's events in its view until it ends.
export async function play(view, open) {
  const playing = { view, controller: new AbortController(), stream: null, accepted: false, stopped: false };
  const { signal } = playing.controller;
  const { id } = current;
  current.playing.push(playing);
  busy();
  try {
    for await (const { event, data } of open(signal)) {
      if (signal.aborted) throw signal.reason;
      handle(playing, event, data);
    }
    if (!view.ended) throw new Problem({ detail: "The answer broke off.", hint: "Check that Turnwise is still running." });
  } catch (error) {
    if (!view.element.isConnected) { // the reader has gone to another conversation
      if (playing.waits) keepDraft(view.message, id); // what was not sent yet waits there
      return;
    }
    const problem = inWords(error);
    if (problem.code === "MessageBlocked") view.blocked(problem);
    else if (problem.code === "ImageNotSeen") blind(view, problem);
    else if (FUTILE.includes(problem.status)) view.problem(problem, ["Put it another way", () => takeBack(view)]);
    else view.problem(problem);
    announce(problem.message);
    grown();
  } finally {
    current.playing = current.playing.filter((each) => each !== playing);
    busy();
    dispatchEvent(new Event("conversations"));
  }
}

// A message that was never taken goes back to where it was written.
function takeBack(view) {
  if (!view.number) view.element.remove();
  reword(view.message);
}

// Nobody here can see: the same question can be asked without its pictures, as another request.
function blind(view, { message, hint }) {
  const without = () => {
    view.element.remove();
    send(view.message, { ...view.sent, images: [] });
  };
  view.problem({ message, hint, calm: true }, ["Ask without it", without]);
}

function handle(playing, event, data) {
  const { view } = playing;
  if (event === "accepted") begun(playing, data);
  else if (event === "waits") view.wait((playing.waits = data) || "Understanding the question");
  else if (event === "stage") view.stage(data);
  else if (event === "plan") view.plan(data);
  else if (event === "step") view.step();
  else if (event === "text") return view.text(data.text);
  else if (event === "lost" || event === "found") view.connection(event === "lost");
  else if (event === "error") throw new Problem(data);
  else if (event === "turn") view.restore(data);
  else if (event === "answer") {
    view.answer(data);
    showStanding(data);
    announce(data.text.replace(/\s*\[\d+\]/g, ""));
  }
  if (event === "lost" || event === "found") playing.lost = event === "lost";
  if (playing.lost && playing.stopped) playing.controller.abort();
  grown();
}

function begun(playing, { conversation_id: id, turn, stream }) {
  Object.assign(playing, { accepted: true, stream });
  remember(id);
  playing.view.begun(turn);
  current.views.set(turn, playing.view);
  if (playing.view.element.isConnected) inOrder(playing.view);
  if (playing.stopped) halt(playing);
  else dispatchEvent(new Event("begun"));
}

// Stops the turn itself, not only the reading of it: one that was not accepted yet as soon as it is, or at once where
// the server is out of reach.
export function stop() {
  const playing = current.playing.at(-1);
  if (!playing || playing.stopped) return;
  playing.stopped = true;
  playing.view.wait("Stopping");
  if (playing.accepted || playing.lost || playing.waits) halt(playing);
}

function halt({ stream, controller }) {
  if (stream) request("DELETE", `/api/streams/${encodeURIComponent(stream)}`).catch(() => {});
  controller.abort();
}

// Lets go of what is being answered, which goes on: another page may read it, or this one later.
export function leave() {
  for (const { controller } of current.playing) controller.abort();
  current.playing = [];
  busy();
}

export function inWords(error) {
  if (error.code === "Interrupted") return { message: "This answer was interrupted.", calm: true };
  if (error instanceof Problem) return error;
  if (error.name === "AbortError") return { message: "You stopped this answer.", calm: true };
  console.error(error);
  return { message: "The answer broke off.", hint: "Check that Turnwise is still running." };
}

function busy() {
  const yes = current.playing.length > 0;
  const changed = at("stop").hidden === yes;
  at("send").hidden = yes;
  at("stop").hidden = !yes;
  const free = document.activeElement === document.body || document.activeElement === at("stop");
  if (changed && !yes && mouse.matches && free) at("message").focus({ preventScroll: true });
}

// Puts a message back where it was written, to be changed.
export function reword(message) {
  const box = at("message");
  box.value = message;
  box.dispatchEvent(new Event("input"));
  box.focus();
}
