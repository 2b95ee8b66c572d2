// The page: which conversation is shown, what is asked in it, and the parts around it.

import { ask, get, Problem } from "./api.js";
import { closeSource } from "./panel.js";
import { make, restored, TurnView } from "./turn.js";

const at = (id) => document.getElementById(id);
const [composer, message, turns, earlier] = ["composer", "message", "turns", "earlier"].map(at);
const wide = matchMedia("(min-width: 85rem)");
const mouse = matchMedia("(hover: hover)"); // elsewhere a focus we set would bring up the keyboard
let conversation = null; // the id of the one shown; null before its first question
let asking = null; // the AbortController of the question under way

// --- asking ------------------------------------------------------------------------------------------------------

async function send(text, condensedQuery) {
  if (asking || !text.trim()) return;
  asking = new AbortController();
  const view = new TurnView(text, send);
  show(view);
  try {
    const body = { message: text, conversation_id: conversation ?? undefined, condensed_query: condensedQuery };
    for await (const { event, data } of ask(body, asking.signal)) handle(view, event, data);
    if (!view.ended) throw new Problem({ detail: "The answer broke off.", hint: "Check that Turnwise is still running." });
  } catch (error) {
    const problem = inWords(error);
    keepingBottom(() => (problem.code === "MessageBlocked" ? view.blocked(problem) : view.problem(problem)));
    announce(problem.message);
  } finally {
    asking = null;
    busy(false);
    listEarlier();
  }
}

function handle(view, event, data) {
  keepingBottom(() => {
    if (event === "accepted") remember(data.conversation_id);
    else if (event === "stage") view.stage(data);
    else if (event === "plan") view.plan(data);
    else if (event === "step") view.step();
    else if (event === "text") view.text(data.text);
    else if (event === "error") throw new Problem(data);
    else if (event === "answer") {
      view.answer(data);
      announce(data.text);
    }
  });
}

function inWords(error) {
  if (error instanceof Problem) return error;
  if (error.name === "AbortError") return { message: "You stopped this answer.", calm: true };
  console.error(error);
  return { message: "The answer broke off.", hint: "Check that Turnwise is still running." };
}

function show(view) {
  at("welcome").hidden = at("notice").hidden = true;
  closeSource();
  turns.append(view.element);
  busy(true);
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

function remember(id) {
  if (conversation === id) return;
  conversation = id;
  history.replaceState(null, "", address(id));
}

// A conversation's place in the URL, so that a reload or a bookmark finds it.
function address(id) {
  return `#/${encodeURIComponent(id)}`;
}

function addressed() {
  try {
    return decodeURIComponent(location.hash.replace(/^#\/?/, "")) || null;
  } catch {
    return location.hash;
  }
}

function busy(yes) {
  at("send").hidden = yes;
  at("stop").hidden = !yes;
  if (!yes && mouse.matches) message.focus({ preventScroll: true });
}

function announce(text) {
  at("said").textContent = text.replace(/\s*\[\d+\]/g, "");
}

// Follow the answer only for a reader who is at its end.
function keepingBottom(change) {
  const page = document.documentElement;
  const atBottom = page.scrollHeight - innerHeight - scrollY < 80;
  change();
  if (atBottom) requestAnimationFrame(() => scrollTo({ top: page.scrollHeight, behavior: "instant" }));
}

// --- showing a conversation --------------------------------------------------------------------------------------

async function showConversation() {
  asking?.abort();
  closeSource();
  if (!wide.matches) toggleEarlier(false);
  conversation = addressed();
  turns.replaceChildren();
  at("notice").hidden = at("before").hidden = true;
  at("welcome").hidden = conversation !== null;
  if (conversation) await showTurns();
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  markCurrent();
}

async function showTurns(before) {
  const id = conversation;
  try {
    const query = before ? `?before=${before}` : "";
    const found = await get(`/api/conversations/${encodeURIComponent(id)}${query}`);
    if (id !== conversation) return;
    turns.prepend(...found.turns.map((turn) => restored(turn, send).element));
    const first = found.turns[0]?.number ?? 1;
    at("before").hidden = first === 1;
    at("before").onclick = () => showTurns(first);
  } catch (error) {
    const { message: words, hint } = inWords(error);
    at("notice").textContent = [words, hint].filter(Boolean).join(" ");
    at("notice").hidden = false;
    if (error.status === 404) conversation = null;
  }
}

function startNew() {
  if (location.hash) location.hash = "";
  else showConversation();
  message.focus();
}

// --- the parts around it -----------------------------------------------------------------------------------------

async function listEarlier() {
  const { conversations } = await get("/api/conversations").catch(() => ({ conversations: [] }));
  const items = conversations.map(({ id, title, last_activity }) => {
    const link = make("a", { href: address(id), textContent: title });
    link.dataset.id = id;
    link.append(make("small", { textContent: ago(last_activity) }));
    return make("li", {}, link);
  });
  const none = make("li", { className: "none", textContent: "What you ask is kept here." });
  earlier.querySelector("ol").replaceChildren(...(items.length ? items : [none]));
  markCurrent();
}

function markCurrent() {
  for (const link of earlier.querySelectorAll("a")) link.ariaCurrent = link.dataset.id === conversation ? "page" : null;
}

function ago(seconds) {
  const passed = seconds - Date.now() / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, length]) => -passed >= length) ?? ["second", 0];
  return size ? new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.ceil(passed / size), unit) : "just now";
}

function toggleEarlier(yes) {
  const held = earlier.contains(document.activeElement);
  earlier.hidden = !yes;
  at("show-earlier").ariaExpanded = String(yes);
  if (!yes && held) at("show-earlier").focus();
}

async function describeLibrary() {
  const library = await get("/api/library").catch(() => null);
  if (!library) return;
  at("library").replaceChildren(...libraryLine(library));
  at("welcome-text").textContent = library.documents
    ? "Every answer shows the sentences it rests on. Go on as you would with a person: ask “how does it compare?”, " +
      "and Turnwise works out what you mean, searches for that, and tells you what it searched for."
    : "The library is empty so far. Add a file or a folder with “turnwise add PATH”, then ask about it here.";
  const examples = (library.examples ?? []).map((text) =>
    make("li", {}, make("button", { type: "button", textContent: text, onclick: () => send(text) })),
  );
  at("examples").replaceChildren(...examples);
  if (library.pending) setTimeout(describeLibrary, 3000);
}

function libraryLine({ documents, pending, offline, local, model }) {
  const count = `${documents.toLocaleString("en")} ${documents === 1 ? "document" : "documents"}`;
  const learning = pending ? `${pending.toLocaleString("en")} passages still being learned` : "";
  const answering = offline && !local ? "answering offline" : `answers by ${model}`;
  const where = offline ? ", nothing leaves this machine" : "";
  return [[count, learning, answering].filter(Boolean).join(" · "), make("span", { textContent: where })];
}

// --- wiring ------------------------------------------------------------------------------------------------------

function grow() {
  message.style.height = "auto";
  message.style.height = `${message.scrollHeight}px`;
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (asking || !message.value.trim()) return;
  send(message.value.trim());
  message.value = "";
  grow();
});
message.addEventListener("input", grow);
message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  composer.requestSubmit();
});
at("stop").addEventListener("click", () => asking?.abort());
at("new").addEventListener("click", startNew);
at("show-earlier").addEventListener("click", () => {
  toggleEarlier(earlier.hidden);
  earlier.querySelector("a")?.focus();
});
document.querySelector("main").addEventListener("click", () => wide.matches || toggleEarlier(false));
document.addEventListener("keydown", (event) => event.key === "Escape" && !wide.matches && toggleEarlier(false));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  message.focus();
});
addEventListener("hashchange", showConversation);

describeLibrary();
toggleEarlier(wide.matches);
listEarlier();
await showConversation();
if (mouse.matches) message.focus({ preventScroll: true });
