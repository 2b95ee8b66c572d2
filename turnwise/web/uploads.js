// Files on their way into the library: each goes out, is read, and is learned, and says so in words.

import { get, sentName, upload } from "./api.js";
import { announce, at, count, draw, iconButton, make, percent, size } from "./dom.js";
import { listDocuments, openDocuments } from "./documents.js";
import { forReaders } from "./readers.js";

const list = at("uploads");

const learning = new Set(); // what is not learned yet, as {document, outcome, row}

// Two files at a time: one is read while the next goes out. All go to the collection that was chosen when they were let
// go: another may be chosen for what is added next.
export async function addFiles(files) {
  openDocuments();
  const collection = at("upload-collection").value.trim();
  const waiting = files.map((file) => [file, line(file)]);
  const next = async () => {
    for (let each = waiting.shift(); each; each = waiting.shift()) {
      if (each[1].isConnected) await add(...each, collection); // else it was taken off the list
    }
  };
  await Promise.all([next(), next()]);
  await listDocuments();
  dispatchEvent(new Event("library"));
}

function line(file) {
  const bar = make("progress", { max: 1, value: 0, ariaLabel: `How far ${file.name} is` });
  const told = make("small", { textContent: `${size(file.size)}, waiting` });
  const row = make("li", {}, draw("file"), make("span", { textContent: file.name }), told, bar);
  const taken = () => {
    row.remove();
    row.stops?.abort();
  };
  row.append(iconButton("close", `Take ${file.name} off this list`, taken));
  list.append(row);
  return row;
}

async function add(file, row, collection) {
  const [bar, told] = [row.querySelector("progress"), row.querySelector("small")];
  const query = collection ? `?collection=${encodeURIComponent(collection)}` : "";
  row.stops = new AbortController();
  try {
    const document = await upload(`/api/documents/${sentName(file)}${query}`, file, (share) => {
      bar.value = share / 2;
      told.textContent = share < 1 ? `sending, ${percent(share)}` : "reading";
      if (share === 1) row.stops = null; // all of it is there: it can only be deleted
    }, row.stops.signal);
    const outcome = { added: "added", updated: "updated", unchanged: "was here already" }[document.outcome] ?? "added";
    announce(`${file.name}: ${outcome}.`);
    if (!tell(document, outcome, row)) learn({ document, outcome, row });
  } catch (error) {
    if (error.name !== "AbortError") fail(row, error);
  }
}

function fail(row, error) {
  row.classList.add("failed");
  row.querySelector("progress").remove();
  row.querySelector("small").textContent = forReaders([error.message, error.hint].filter(Boolean).join(" "));
  announce(`${row.querySelector("span").textContent}: ${error.message}`);
}

// Says how far a document is learned; true where that is all of it.
function tell({ passages, pending, status }, outcome, row) {
  const learned = passages - pending;
  row.querySelector("progress").value = 0.5 + (passages ? learned / passages : 1) / 2;
  row.querySelector("small").textContent = pending
    ? `${outcome}; ${learned} of ${passages} passages learned`
    : `${outcome}, ${count(passages, "passage")} learned`;
  return status === "ready";
}

// It can be found by its words at once, and the next file need not wait. How far the meaning of each is learned is asked
// every second, of one after the other: there may be hundreds.
async function learn(one) {
  learning.add(one);
  if (learning.size > 1) return; // what is asked for the others is asked for it too
  while (learning.size) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    for (const each of learning) {
      const { document, outcome, row } = each;
      try {
        const gone = !row.isConnected;
        if (gone || tell(await get(`/api/documents/${encodeURIComponent(document.id)}`), outcome, row)) learning.delete(each);
      } catch (error) {
        learning.delete(each);
        fail(row, error);
      }
    }
  }
}

at("library-file").addEventListener("change", ({ target }) => {
  addFiles([...target.files]);
  target.value = "";
});
for (const add of document.querySelectorAll("[data-add]")) add.addEventListener("click", () => at("library-file").click());
