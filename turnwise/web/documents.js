// The library beside the conversation: its collections and documents, what state they are in, and what to do with them.

import { me } from "./access.js";
import { get, send } from "./api.js";
import { announce, at, cited, count, iconButton, make, menu, toast } from "./dom.js";
import { isOpen, openSide } from "./side.js";

const panel = at("documents");
const list = at("document-list");
const chosen = at("document-collection");
const search = at("document-search");
const SUSPECT = "Holds instructions to the assistant: passages with them are left out.";
const PAGE = 50; // documents that are shown at once
const MOST = 1000; // that can be asked for at once
let after = null; // where the next page begins
let asked = 0; // which look at the list is the latest: an earlier one may be answered after it
const going = new Set(); // ids of those that go when nobody says otherwise

export function openDocuments() {
  if (isOpen(panel)) return;
  openSide(panel, at("show-documents"));
  at("add-documents").hidden = !me.edit;
  listDocuments();
}

export async function listDocuments() {
  clearTimeout(listDocuments.timer);
  const mine = (asked += 1);
  const shown = list.querySelectorAll(".document").length; // as many as were brought up before
  try {
    const listed = page("", Math.min(Math.max(PAGE, shown), MOST));
    const [{ collections }, { documents: found, next }] = await Promise.all([get("/api/collections"), listed]);
    if (mine !== asked) return;
    showCollections(collections);
    goesOn(next);
    const held = document.activeElement.closest?.("#document-list .more")?.dataset.id;
    list.replaceChildren(...rows(found));
    if (held) list.querySelector(`.more[data-id="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    if (!found.length) list.append(make("li", { className: "none", textContent: empty() }));
    // What is being learned is looked at again as long as somebody looks.
    if (found.some(({ pending }) => pending)) listDocuments.timer = setTimeout(() => isOpen(panel) && listDocuments(), 3000);
  } catch (error) {
    if (mine !== asked) return;
    list.replaceChildren(make("li", { className: "notice", textContent: error.message }));
  }
}

function empty() {
  if (search.value.trim()) return `No title or file name holds “${search.value.trim()}”.`;
  return me.edit
    ? "There are no documents yet. Drop PDF, Word, Markdown, HTML or text files anywhere on this page, and ask about them at once."
    : "There are no documents yet.";
}

async function page(from, limit = PAGE) {
  const query = new URLSearchParams({ limit });
  if (chosen.value) query.set("collection", chosen.value);
  if (search.value.trim()) query.set("search", search.value.trim());
  if (from) query.set("after", from);
  return get(`/api/documents?${query}`);
}

function goesOn(next) {
  after = next ?? null;
  at("more-documents").hidden = !after;
}

function showCollections(collections) {
  const named = collections.filter(({ name }) => name);
  fill(chosen, "All collections", named);
  chosen.hidden = !named.length;
  at("delete-collection").hidden = !me.edit || !chosen.value;
  at("collection-names").replaceChildren(...named.map(({ name }) => make("option", { value: name })));
  offerCollections(named);
}

// The choice, beside the question, of where to look.
export function offerCollections(named) {
  fill(at("collection"), "All documents", named);
  at("collection").hidden = !named.length;
}

function fill(select, all, named) {
  const was = select.value;
  const options = named.map(({ name, documents }) =>
    make("option", { value: name, textContent: documents === undefined ? name : `${name} (${documents})` }),
  );
  select.replaceChildren(make("option", { value: "", textContent: all }), ...options);
  if (named.some(({ name }) => name === was)) select.value = was;
}

function rows(documents) {
  return documents.filter(({ id }) => !going.has(id)).map(row);
}

function row(document) {
  const { id, title, name, source, collection, reference, passages, pending, suspect, trusted, added_at: added } = document;
  const state = pending ? `${passages - pending} of ${passages} passages learned` : count(passages, "passage");
  const since = added && new Date(added * 1000).toLocaleDateString("en", { dateStyle: "medium" });
  const told = [cited(reference ?? {}), collection, state, since];
  const line = make(
    "li",
    { className: "document" },
    make("span", { className: "title", textContent: title || name, title: source ?? name }),
    make("small", { textContent: told.filter(Boolean).join(" · ") }),
  );
  if (suspect && !trusted) line.append(make("small", { className: "suspect", textContent: SUSPECT }));
  if (pending) line.append(make("progress", { max: passages, value: passages - pending, ariaLabel: `How much of ${title} is learned` }));
  if (me.edit) {
    const opener = iconButton("more", `What to do with “${title || name}”`, () => choices(document, opener, line), "quiet small more");
    opener.setAttribute("aria-haspopup", "menu");
    opener.dataset.id = id;
    line.append(opener);
  }
  return line;
}

function choices(document, opener, line) {
  const { id, title, suspect, trusted } = document;
  const path = `/api/documents/${encodeURIComponent(id)}`;
  const trust = trusted
    ? ["Trust it no more", () => act(send("DELETE", `${path}/trust`), `“${title}” is checked again.`)]
    : ["Trust what it says", () => act(send("PUT", `${path}/trust`), `“${title}” is trusted.`)];
  menu(opener, [
    ["Read again", () => act(send("POST", `${path}/reindex`), `“${title}” is being read again.`)],
    ...(suspect || trusted ? [trust] : []),
    ["Delete", () => remove(id, title, line), "danger"],
  ]);
}

async function act(request, said) {
  try {
    await request;
    announce(said);
    toast(said, "", 3);
  } catch (error) {
    toast([error.message, error.hint].filter(Boolean).join(" "), "", 8);
  }
  await listDocuments();
  dispatchEvent(new Event("library"));
}

// Gone from the list at once, from the library when nobody has said otherwise for a while.
async function remove(id, title, line) {
  const next = (line.nextElementSibling ?? line.previousElementSibling)?.querySelector(".more") ?? search;
  going.add(id); // the list may be asked for again before that
  line.remove();
  next.focus({ preventScroll: true });
  const finish = () => send("DELETE", `/api/documents/${encodeURIComponent(id)}`);
  addEventListener("pagehide", finish, { once: true });
  const undone = await toast(`“${title}” is deleted.`, "Undo", 8);
  removeEventListener("pagehide", finish);
  if (!undone) await finish().catch((error) => toast(error.message));
  going.delete(id);
  await listDocuments();
  if (!undone) dispatchEvent(new Event("library"));
}

async function removeCollection() {
  const name = chosen.value;
  if (await toast(`The collection “${name}” and all its documents are deleted in a moment.`, "Keep it", 8)) return;
  chosen.value = "";
  await act(send("DELETE", `/api/collections/${encodeURIComponent(name)}`), `The collection “${name}” is deleted.`);
}

let typing = null;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(listDocuments, 200);
});
chosen.addEventListener("change", listDocuments);
at("delete-collection").addEventListener("click", removeCollection);
at("show-documents").addEventListener("click", () => {
  openDocuments();
  (matchMedia("(hover: hover)").matches ? search : at("close-documents")).focus(); // a field would bring up the keyboard
});
at("more-documents").addEventListener("click", async () => {
  const mine = asked;
  try {
    const { documents, next } = await page(after);
    if (mine !== asked) return;
    list.append(...rows(documents));
    goesOn(next);
  } catch (error) {
    toast([error.message, error.hint].filter(Boolean).join(" "));
  }
});
