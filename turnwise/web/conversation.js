// Showing a conversation: its last turns, the earlier ones as they are scrolled to, and those that others begin.

import { conversationPath, get, request } from "./api.js";
import { showAttachments } from "./attach.js";
import { host, inWords, leave, play, send } from "./chat.js";
import { address, addressed, current, entitle, grown, isAtEnd, toEnd } from "./current.js";
import { at, make } from "./dom.js";
import { titleOf } from "./list.js";
import { closeSource } from "./panel.js";
import { showStanding } from "./standing.js";
import { events, follow } from "./stream.js";
import { TurnView } from "./turn.js";

const PAGE = 30; // turns that are loaded at once
const MOST = 90; // turns that stay on the page of a reader who is at its end
const turns = at("turns");
let watching = null; // the AbortController of the events of this conversation

export async function showConversation() {
  const { id, number } = addressed();
  if (id !== null && id === current.id && turns.childElementCount) return showTurn(number);
  leave();
  watching?.abort();
  closeSource();
  Object.assign(current, { id, views: new Map(), ancestors: [] });
  entitle("");
  turns.replaceChildren();
  at("notice").hidden = at("before").hidden = at("origin").hidden = true;
  at("welcome").hidden = id !== null;
  showStanding();
  showAttachments([]);
  if (id) await load();
  if (number && number < first()) await loadBefore(first() - number + 5);
  if (number) showTurn(number);
  else toEnd();
  dispatchEvent(new Event("shown"));
  const [text, options] = current.next ?? [];
  current.next = null;
  if (text && current.id) send(text, options);
}

async function load() {
  const id = current.id;
  try {
    const found = await get(conversationPath(id, `?limit=${PAGE}`));
    if (id !== current.id) return;
    describe(found);
    put(found.turns, found.stream);
    showStanding(found.turns.findLast(({ status }) => status === "answered")?.record);
    watch();
  } catch (error) {
    if (id !== current.id) return;
    if (current.next) return; // a branch before the first turn is empty until it is asked something
    const { message, hint } = inWords(error);
    at("notice").textContent = [message, hint].filter(Boolean).join(" ");
    at("notice").hidden = false;
    if (error.status === 404) current.id = null;
  }
}

function describe({ title, ancestors = [], attachments = [] }) {
  entitle(title ?? titleOf(current.id) ?? "");
  showAttachments(attachments);
  current.ancestors = ancestors;
  showOrigin();
}

// What this conversation is a branch of, by the title in the list, which may come later.
function showOrigin() {
  const [from] = current.ancestors;
  at("origin").hidden = !from;
  if (!from) return;
  const link = make("a", { className: "link", href: address(from), textContent: titleOf(from) || "another conversation" });
  at("origin").replaceChildren("A branch of ", link, ", which stays as it was.");
}

// Puts kept turns before those that are shown, and goes on with one that is being answered.
function put(found, stream) {
  const views = found.map((turn) => {
    const view = new TurnView(turn.prompt, host, { number: turn.number });
    const live = turn.status === "pending" ? (turn.stream ?? stream) : null;
    if (live) {
      view.begun(turn.number);
      requestAnimationFrame(() => play(view, (signal) => follow(live, { conversation: current.id, number: turn.number }, signal)));
    } else view.restore(turn);
    current.views.set(turn.number, view);
    return view.element;
  });
  turns.prepend(...views);
  mark();
}

function mark() {
  at("before").hidden = (first() ?? 1) <= 1;
}

function first() {
  return current.views.size ? Math.min(...current.views.keys()) : null;
}

let loading = false;
const topmost = new IntersectionObserver((seen) => seen.at(-1).isIntersecting && loadBefore(), { rootMargin: "400px 0px 0px 0px" });

async function loadBefore(limit = PAGE) {
  if (loading || at("before").hidden) return;
  loading = true;
  const id = current.id;
  try {
    const found = await get(conversationPath(id, `?limit=${limit}&before=${first()}`));
    if (id !== current.id) return;
    const top = turns.firstElementChild;
    const was = top?.getBoundingClientRect().top ?? 0;
    put(found.turns);
    if (top) scrollBy({ top: top.getBoundingClientRect().top - was, behavior: "instant" });
    topmost.unobserve(at("before"));
    topmost.observe(at("before")); // says at once whether it is still in sight
  } catch (error) {
    at("before").textContent = `${error.message} Try again`;
  } finally {
    loading = false;
  }
}

function showTurn(number) {
  const view = current.views.get(number);
  if (!view) return;
  view.element.scrollIntoView({ block: "start" });
  view.element.classList.add("found");
  setTimeout(() => view.element.classList.remove("found"), 2000);
}

// Lets the oldest turns go from the page of a long sitting; they are loaded again when they are scrolled to.
function trim() {
  const over = turns.childElementCount - MOST;
  if (over <= 0 || !isAtEnd()) return;
  for (const number of [...current.views.keys()].sort((one, other) => one - other).slice(0, over)) {
    current.views.get(number).element.remove();
    current.views.delete(number);
  }
  mark();
  toEnd();
}

// --- what others do in it ----------------------------------------------------------------------------------------

async function watch() {
  watching?.abort();
  const id = current.id;
  watching = Object.assign(new AbortController(), { id });
  const { signal } = watching;
  for (let wait = 1; !signal.aborted; wait = Math.min(2 * wait, 60)) {
    try {
      for await (const { event, data } of events(await request(conversationPath(id, "/events"), { signal }))) {
        wait = 1;
        if (id === current.id) await happened(event, data);
      }
    } catch (error) {
      if (error.name === "AbortError" || [401, 403, 404, 405].includes(error.status)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

async function happened(event, data) {
  if (event === "renamed") {
    entitle(data.title);
    dispatchEvent(new Event("conversations"));
  } else if (event === "deleted") {
    at("notice").textContent = "This conversation was deleted. What you ask now begins a new one.";
    at("notice").hidden = false;
    watching.abort();
    current.id = null;
    dispatchEvent(new Event("conversations"));
  } else if (event === "turn") await begunElsewhere(data);
}

async function begunElsewhere({ number, status, stream }) {
  await Promise.all(current.playing.filter(({ accepted }) => !accepted).map(accepted));
  const known = current.views.get(number);
  if (known && !known.pending) return; // it is shown, or on its way
  const id = current.id;
  const turn = await get(conversationPath(id, `/turns/${number}`));
  if (id !== current.id || (current.views.get(number) ?? null) !== (known ?? null)) return;
  const view = known ?? new TurnView(turn.prompt, host, { number });
  if (!known) turns.append(view.element);
  current.views.set(number, view);
  at("welcome").hidden = true;
  if (turn.status === "pending" && stream && status === "pending") {
    view.begun(number);
    play(view, (signal) => follow(stream, { conversation: id, number }, signal));
  } else {
    view.restore(turn);
    if (turn.status === "answered") showStanding(turn.record);
  }
  grown();
  dispatchEvent(new Event("conversations"));
}

// When a question of ours has its number, or has failed without one.
function accepted(playing) {
  return new Promise((resolve) => {
    const look = () => (playing.accepted || !current.playing.includes(playing) ? resolve() : setTimeout(look, 100));
    look();
  });
}

// --- wiring ------------------------------------------------------------------------------------------------------

at("before").addEventListener("click", () => loadBefore());
topmost.observe(at("before"));
addEventListener("hashchange", showConversation);
addEventListener("listed", showOrigin);
addEventListener("begun", () => {
  if (watching === null || watching.signal.aborted || watching.id !== current.id) watch();
  trim();
});
