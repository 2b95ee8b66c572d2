// Files that are dropped anywhere on the page, pasted, or chosen: where they should go is asked where it can be meant
// in two ways.

import { me } from "./access.js";
import { addPicture, attach, isPicture } from "./attach.js";
import { ask, at, count } from "./dom.js";
import { addFiles } from "./uploads.js";

const veil = at("drop");
const MOST = 1000; // files of one drop
const GONE = 1000; // milliseconds without a sign of a drag: it was broken off, with Escape
let over = null; // until when the veil stays

// Pictures go with the message. Of other files it is asked whether they are for the library or for here.
async function receive(files) {
  const [pictures, others] = [files.filter(isPicture), files.filter((file) => !isPicture(file))];
  for (const picture of pictures) await addPicture(picture);
  if (!others.length) return;
  const where = me.edit ? await place(others) : "here";
  if (where === "library") addFiles(others);
  else if (where === "here") attach(others);
}

async function place(files) {
  const names = files.map(({ name }) => name).join(", ");
  at("where-files").textContent = files.length === 1 ? names : `${count(files.length, "file")}: ${names}`;
  return (await ask(at("where")))?.get("where") ?? null;
}

function carriesFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}

function showVeil(yes) {
  clearTimeout(over);
  veil.hidden = !yes;
  if (yes) over = setTimeout(showVeil, GONE, false);
}

for (const sign of ["dragenter", "dragover"]) {
  addEventListener(sign, (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    showVeil(true);
  });
}
addEventListener("dragleave", (event) => event.relatedTarget === null && showVeil(false)); // else it is on its way over the page
addEventListener("keydown", (event) => event.key === "Escape" && showVeil(false));
addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  showVeil(false);
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...event.dataTransfer.files];
  const inLibrary = event.target.closest("#documents") && me.edit;
  inFolders(entries, files).then((found) => (inLibrary ? addFiles(found) : receive(found)));
});

// The files of what was dropped, those in folders too; hidden ones are left where they are.
async function inFolders(entries, files) {
  if (!entries.some(({ isDirectory }) => isDirectory)) return files;
  const found = [];
  for (const waiting = [...entries]; waiting.length && found.length < MOST; ) {
    const entry = waiting.shift();
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    else waiting.push(...(await listed(entry.createReader())));
  }
  return found;
}

async function listed(reader) {
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!some.length) return found;
    found.push(...some);
  }
}

at("message").addEventListener("paste", (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  if (!files.length) return;
  event.preventDefault();
  receive(files);
});
at("attach").addEventListener("click", () => at("attach-file").click());
at("attach-file").addEventListener("change", ({ target }) => {
  receive([...target.files]);
  target.value = "";
});
