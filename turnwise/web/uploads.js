// Files on their way into the library: each goes out, is read, and is learned, and says so in words.

import { get, sentName, upload } from "./api.js";
import { announce, at, count, draw, iconButton, make, percent, size } from "./dom.js";
import { listDocuments, openDocuments } from "./documents.js";

const list = at("uploads");

// Two files at a time: one is read while the next goes out.
export async function addFiles(files) {
  openDocuments();
  const waiting = files.map((file) => [file, line(file)]);
  const next = async () => {
    for (let each = waiting.shift(); each; each = waiting.shift()) await add(...each);
  };
  await Promise.all([next(), next()]);
  await listDocuments();
  dispatchEvent(new Event("library"));
}

function line(file) {
  const bar = make("progress", { max: 1, value: 0, ariaLabel: `How far ${file.name} is` });
  const told = make("small", { textContent: `${size(file.size)}, waiting` });
  const row = make("li", {}, draw("file"), make("span", { textContent: file.name }), told, bar);
  row.append(iconButton("close", `Take ${file.name} off this list`, () => row.remove()));
  list.append(row);
  return row;
}

async function add(file, row) {
  const [bar, told] = [row.querySelector("progress"), row.querySelector("small")];
  const collection = at("upload-collection").value.trim();
  const query = collection ? `?collection=${encodeURIComponent(collection)}` : "";
  try {
    const document = await upload(`/api/documents/${sentName(file)}${query}`, file, (share) => {
      bar.value = share / 2;
      told.textContent = share < 1 ? `sending, ${percent(share)}` : "reading";
    });
    const outcome = { added: "added", updated: "updated", unchanged: "was here already" }[document.outcome] ?? "added";
    announce(`${file.name}: ${outcome}.`);
    await learn(document, outcome, bar, told);
  } catch (error) {
    row.classList.add("failed");
    bar.remove();
    told.textContent = [error.message, error.hint].filter(Boolean).join(" ");
    announce(`${file.name}: ${error.message}`);
  }
}

// It can be found by its words at once; how far its meaning is learned is asked every second.
async function learn(document, outcome, bar, told) {
  for (let now = document; ; ) {
    const learned = now.passages - now.pending;
    bar.value = 0.5 + (now.passages ? learned / now.passages : 1) / 2;
    told.textContent = now.pending
      ? `${outcome}; ${learned} of ${now.passages} passages learned`
      : `${outcome}, ${count(now.passages, "passage")} learned`;
    if (now.status === "ready" || !bar.isConnected) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    now = await get(`/api/documents/${encodeURIComponent(now.id)}`);
  }
}

at("library-file").addEventListener("change", ({ target }) => {
  addFiles([...target.files]);
  target.value = "";
});
for (const add of document.querySelectorAll("[data-add]")) add.addEventListener("click", () => at("library-file").click());
