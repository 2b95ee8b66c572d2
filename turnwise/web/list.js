// The conversations kept here: found by their words, grouped by day, renamed, exported, brought in, deleted.

import { conversationPath, download, get, send } from "./api.js";
import { address, current, entitle } from "./current.js";
import { ago, announce, ask, at, button, day, draw, iconButton, make, menu, toast } from "./dom.js";

const PAGE = 60;
const list = at("conversations");
const search = at("search");
let known = []; // the conversations listed, latest first
let all = []; // those that were listed last without a search
const going = new Set(); // ids of those that go when nobody says otherwise
let asked = 0;
let listed = ""; // the words that they were sought by
let unheard = false; // whether the server could not be asked

export function titleOf(id) {
  return known.find((each) => each.id === id)?.title ?? "";
}

export async function listConversations() {
  const words = search.value.trim();
  const mine = (asked += 1);
  const found = await page(words).catch(() => null);
  if (mine !== asked) return; // a later search has been begun
  unheard = found === null;
  if (found && !words) all = found;
  if (found || listed !== words) known = found ?? (words ? [] : all); // out of reach is not empty, and not what was sought
  listed = words;
  if (current.id && !current.title) entitle(titleOf(current.id));
  show(words);
  dispatchEvent(new Event("listed"));
}

async function page(words, before) {
  const query = new URLSearchParams({ limit: PAGE });
  if (words) query.set("search", words);
  if (before) query.set("before", before);
  return (await get(`/api/conversations?${query}`)).conversations;
}

async function more() {
  known.push(...(await page(search.value.trim(), known.at(-1).last_activity)));
  show(search.value.trim());
}

function show(words) {
  const visible = known.filter(({ id }) => !going.has(id));
  const groups = [...Map.groupBy(visible, ({ last_activity: last }) => day(last))];
  const sections = groups.map(([name, found]) => {
    const rows = make("ol", {}, ...found.map(row));
    rows.ariaLabel = name;
    return make("section", {}, make("h2", { textContent: name }), rows);
  });
  const focus = document.activeElement;
  const held = focus.closest?.("#conversations li")?.querySelector("a").dataset.id;
  const kind = focus.matches("a") ? "a" : ".more";
  list.replaceChildren(...(sections.length ? sections : [make("p", { className: "none", textContent: empty(words) })]));
  if (known.length && known.length % PAGE === 0) list.append(button("Show older ones", more));
  markCurrent();
  if (held) list.querySelector(`li:has([data-id="${CSS.escape(held)}"]) ${kind}`)?.focus({ preventScroll: true });
}

function empty(words) {
  if (unheard) return `Your conversations cannot be ${words ? "searched" : "listed"} now. They are kept where they were.`;
  if (words) return `Nothing that you asked or were told holds “${words}”.`;
  return "What you ask is kept here: to come back to, to search, to take along.";
}

function row(conversation) {
  const { id, title, snippet, last_activity: last, branch_of: origin } = conversation;
  const link = make("a", { href: address(id) }, make("span", { className: "title", dir: "auto", textContent: title || "Untitled" }));
  link.dataset.id = id;
  if (origin) link.firstChild.prepend(draw("branch"), make("span", { className: "unseen", textContent: "A branch: " }));
  link.append(snippet ? make("small", { className: "snippet" }, ...hit(snippet)) : make("small", { textContent: ago(last) }));
  const opener = iconButton("more", `What to do with “${title}”`, () => choices(conversation, opener), "quiet small more");
  opener.setAttribute("aria-haspopup", "menu");
  return make("li", {}, link, opener);
}

// A snippet with the words that were searched for marked.
function hit(text) {
  const snippet = text.replace(/\*\*|\s?\[\d+\]/g, "");
  const words = search.value.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!words.length) return [snippet];
  return snippet.split(new RegExp(`(${words.join("|")})`, "gi")).map((piece, i) => (i % 2 ? make("mark", { textContent: piece }) : piece));
}

function choices(conversation, opener) {
  const { id, title } = conversation;
  const failed = (error) => toast(error.message);
  menu(opener, [
    ["Rename", () => rename(id, title).catch(failed)],
    ["Export as Markdown", () => download(conversationPath(id, "/export?format=markdown"), `${title}.md`).catch(failed)],
    ["Export as JSON", () => download(conversationPath(id, "/export?format=json"), `${title}.json`).catch(failed)],
    ["Delete", () => remove(id, title).catch(failed), "danger"],
  ]);
}

async function rename(id, title) {
  const dialog = at("rename");
  const input = dialog.querySelector("input");
  input.value = title;
  input.setCustomValidity("");
  const given = (await ask(dialog))?.get("title").trim();
  if (!given || given === title) return;
  await send("PATCH", conversationPath(id), { title: given });
  if (id === current.id) entitle(given);
  await listConversations();
}

// It is gone from the list at once, and from the library when nobody has said otherwise for a while.
async function remove(id, title) {
  going.add(id);
  show(search.value.trim());
  if (document.activeElement === document.body) at("new-in-list").focus(); // the row that had the focus is gone
  if (id === current.id) location.hash = "";
  const finish = () => send("DELETE", conversationPath(id)).catch((error) => error.status === 404 || toast(error.message));
  addEventListener("pagehide", finish, { once: true });
  const undone = await toast(`“${title}” is deleted.`, "Undo", 8);
  removeEventListener("pagehide", finish);
  if (!undone) await finish();
  going.delete(id);
  await listConversations();
  if (undone) location.hash = address(id);
}

async function bringIn(file) {
  try {
    const { id } = await send("POST", "/api/conversations", JSON.parse(await file.text()));
    await listConversations();
    location.hash = address(id);
  } catch (error) {
    const unread = error instanceof SyntaxError || [400, 422].includes(error.status); // it is no JSON, or no conversation
    const words = `${file.name} holds no conversation. Choose one that was exported as JSON.`;
    toast(unread ? words : [error.message, error.hint].filter(Boolean).join(" "), "", 8);
  }
}

function markCurrent() {
  for (const link of list.querySelectorAll("a")) link.ariaCurrent = link.dataset.id === current.id ? "page" : null;
}

// --- wiring ------------------------------------------------------------------------------------------------------

let typing = null;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    await listConversations();
    announce(known.length === 1 ? "1 conversation" : `${known.length} conversations`);
  }, 200);
});
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") (event.preventDefault(), list.querySelector("a")?.focus());
  if (event.key !== "Escape" || !search.value) return;
  event.stopPropagation();
  search.value = "";
  listConversations();
});
list.addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!move || !event.target.matches("a")) return;
  event.preventDefault();
  const links = [...list.querySelectorAll("a")];
  const next = links.indexOf(event.target) + move;
  (next < 0 ? search : links[Math.min(next, links.length - 1)]).focus();
});
at("import").addEventListener("click", () => at("import-file").click());
at("import-file").addEventListener("change", ({ target }) => {
  if (target.files[0]) bringIn(target.files[0]);
  target.value = "";
});
at("rename").querySelector("input").addEventListener("input", ({ target }) => {
  target.setCustomValidity(target.value.trim() ? "" : "Give it a name that can be seen.");
});
addEventListener("conversations", listConversations);
addEventListener("shown", markCurrent);
