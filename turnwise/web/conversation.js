// Showing a conversation: its last turns, the earlier ones as they are scrolled to, and those that others begin.

import { conversationPath, get, request } from "./api.js";
import { showAttachments } from "./attach.js";
import { host, inWords, leave, play, send } from "./chat.js";
import { address, addressed, current, entitle, grown, inOrder, isAtEnd, toEnd } from "./current.js";
import { at, make, toast } from "./dom.js";
import { showDraft } from "./draft.js";
import { titleOf } from "./list.js";
import { closeSource } from "./panel.js";
import { showStanding } from "./standing.js";
import { events, follow } from "./stream.js";
import { TurnView } from "./turn.js";

const PAGE = 30; // turns that are loaded at once
const MOST = 90; // turns that stay on the page of a reader who is at its end
const turns = at("turns");
let watching = null; // the AbortController of the events of this conversation
let behind = null; // the conversation that may have gone on unseen: what is newer is asked for with the next connection

export async function showConversation() {
  const { id, number } = addressed();
  if (id !== null && id === current.id && turns.childElementCount) return showTurn(number);
  leave();
  watching?.abort();
  closeSource();
  Object.assign(current, { id, views: new Map(), ancestors: [] });
  entitle("");
  showDraft();
  turns.replaceChildren();
  at("notice").hidden = at("before").hidden = at("origin").hidden = true;
  at("welcome").hidden = id !== null;
  showStanding();
  showAttachments([]);
  if (id) await load();
  if (number) await loadUpTo(number);
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

const AT_ONCE = 500; // turns that the server is asked for, of those up to one that a link names

async function loadUpTo(number) {
  for (let before = null; number < first() && before !== first(); ) {
    before = first();
    await loadBefore(Math.min(AT_ONCE, before - number + 5));
  }
}

function showTurn(number) {
  if (!number || !current.views.size) return; // no turn is named, or what is wrong with the conversation has been said
  const view = current.views.get(number);
  if (!view) return toast(`There is no turn ${number} in this conversation.`, "", 8);
  settle(view.element);
  view.element.classList.add("found");
  setTimeout(() => view.element.classList.remove("found"), 2000);
}

// Scrolls to a turn until it stays there: of those that were never in sight the height is guessed, and they take their
// own as they come near. A reader who scrolls meanwhile is let go.
function settle(element) {
  const mine = new AbortController();
  for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(moved, () => mine.abort(), { signal: mine.signal, passive: true });
  }
  let [calm, frames, place] = [0, 0, null];
  const look = () => {
    if (mine.signal.aborted || !element.isConnected) return;
    element.scrollIntoView({ block: "start", behavior: "instant" });
    const now = element.getBoundingClientRect().top + scrollY;
    calm = now === place ? calm + 1 : 0;
    place = now;
    frames += 1;
    if (calm < 10 && frames < 120) requestAnimationFrame(look);
    else mine.abort();
  };
  look();
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

const HELD = 3; // connections that all pages of this browser hold for news: it has six for a server, and questions need some
const LOOK = { seconds: 4, turns: 5 }; // how often a page without one looks, and how far back

// Whether this page may hold such a connection, until `signal`. Where there are no locks (over plain HTTP from another
// machine) every page holds its own.
async function mayHold(signal) {
  const until = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  for (let slot = 0; navigator.locks && slot < HELD; slot += 1) {
    const free = await new Promise((resolve, reject) => {
      const hold = (lock) => (resolve(Boolean(lock)), lock && until);
      navigator.locks.request(`turnwise news ${slot}`, { ifAvailable: true }, hold).catch(reject);
    });
    if (free) return true;
  }
  return !navigator.locks;
}

// A page that nobody sees holds no connection at all.
async function watch() {
  watching?.abort();
  const id = current.id;
  watching = Object.assign(new AbortController(), { id });
  const { signal } = watching;
  if (document.hidden) {
    behind = id;
    return watching.abort();
  }
  let holds = false;
  for (let wait = 1; !signal.aborted; wait = Math.min(2 * wait, 60)) {
    try {
      holds ||= await mayHold(signal);
      if (!holds) {
        await catchUp(id, signal, LOOK.turns);
        behind = id;
        await new Promise((resolve) => setTimeout(resolve, LOOK.seconds * 1000));
        wait = 1;
        continue;
      }
      const connection = await request(conversationPath(id, "/events"), { signal });
      if (behind === id) await catchUp(id, signal);
      behind = id;
      for await (const { event, data } of events(connection)) {
        wait = 1;
        if (id === current.id) await happened(event, data);
      }
    } catch (error) {
      if (error.status === 404 && behind === id && id === current.id) return gone();
      if (error.name === "AbortError" || [401, 403, 404, 405].includes(error.status)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }
}

async function happened(event, data) {
  if (event === "renamed") {
    entitle(data.title);
    dispatchEvent(new Event("conversations"));
  } else if (event === "deleted") gone();
  else if (event === "turn") await begunElsewhere(data);
}

// What is shown can still be read, but nothing can be done with it: that would be done to the conversation begun next.
function gone() {
  watching.abort();
  leave();
  for (const turn of turns.children) turn.classList.add("gone");
  Object.assign(current, { id: null, views: new Map(), ancestors: [] });
  history.replaceState(null, "", location.pathname);
  dispatchEvent(new Event("addressed"));
  entitle("");
  showAttachments([]);
  showStanding();
  at("before").hidden = at("origin").hidden = true;
  at("notice").textContent = "This conversation was deleted. What you ask now begins a new one.";
  at("notice").hidden = false;
  dispatchEvent(new Event("conversations"));
}

async function begunElsewhere({ number, status, stream }) {
  await oursAccepted();
  const known = current.views.get(number);
  if (known && !known.pending) return; // it is shown, or on its way
  const id = current.id;
  const turn = await get(conversationPath(id, `/turns/${number}`));
  if (id !== current.id || (current.views.get(number) ?? null) !== (known ?? null)) return;
  showNewer(turn, status === "pending" ? stream : null);
  dispatchEvent(new Event("conversations"));
}

// Shows what was begun or ended while this page was not told.
async function catchUp(id, signal, limit = PAGE) {
  await oursAccepted();
  const found = await get(conversationPath(id, `?limit=${limit}`), { signal });
  if (id !== current.id) return;
  entitle(found.title ?? current.title);
  const last = Math.max(0, ...current.views.keys());
  if (found.turns[0]?.number > last + 1 && !current.playing.length) { // what lies between is loaded by scrolling up
    turns.replaceChildren();
    current.views.clear();
  }
  for (const turn of found.turns) {
    const known = current.views.get(turn.number);
    const better = known?.ended && !known.reply && turn.status === "answered"; // it broke off here alone
    if ((known && !known.pending && !better) || turn.number < (first() ?? 0)) continue;
    showNewer(turn, turn.stream ?? found.stream);
  }
  mark();
}

function showNewer(turn, stream) {
  const { number } = turn;
  const view = current.views.get(number) ?? new TurnView(turn.prompt, host, { number });
  current.views.set(number, view);
  if (!view.element.isConnected) inOrder(view);
  at("welcome").hidden = true;
  if (turn.status === "pending" && stream) {
    view.pending = false; // it is followed from now on, and not begun again by the next look
    view.begun(number);
    play(view, (signal) => follow(stream, { conversation: current.id, number }, signal));
  } else {
    view.restore(turn);
    if (turn.status === "answered") showStanding(turn.record);
  }
  grown();
}

function oursAccepted() {
  return Promise.all(current.playing.filter(({ accepted }) => !accepted).map(accepted));
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
document.addEventListener("visibilitychange", () => {
  if (document.hidden) watching?.abort();
  else if (current.id && watching) watch();
});
addEventListener("listed", showOrigin);
addEventListener("begun", () => {
  if (watching === null || watching.signal.aborted || watching.id !== current.id) watch();
  trim();
});
