// What goes with the next questions: files for this conversation alone, and pictures for one message.

import { conversationPath, get, send, sentName, upload } from "./api.js";
import { current, remember } from "./current.js";
import { announce, at, count, draw, iconButton, make, percent, toast } from "./dom.js";
import { forReaders } from "./readers.js";
import { newKey } from "./stream.js";

const PICTURES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const LARGE = 600_000; // bytes
const EDGE = 1568; // pixels of the longer side
const shelf = at("attached");
let images = []; // {name, data, chip}
const onTheirWay = new Set(); // files that are being sent and read, as {id, line}: the conversation, and what is shown there
const underWay = new Map(); // when all of them are there, by conversation

export function isPicture(file) {
  return PICTURES.includes(file.type);
}

// The pictures for the message that is being sent; they go with it and are gone from the composer.
export function takeImages() {
  const taken = images.map(({ name, data }) => ({ name, data }));
  for (const { chip } of images) chip.remove();
  images = [];
  shelf.hidden = !shelf.childElementCount;
  return taken;
}

export async function addPicture(file) {
  const name = file.name || "picture.png";
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return toast(`${name} cannot be read as a picture. Check that it opens in a viewer.`, "", 8);
  const data = await asAddress(file.size > LARGE ? await smaller(file, bitmap) : file);
  const image = { name, data };
  image.chip = put(chip(name, "goes with your next message", thumbnail(bitmap), () => {
    images = images.filter((each) => each !== image);
  }));
  images.push(image);
  announce(`${name} goes with your next message.`);
}

function asAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result), onerror: () => reject(reader.error) });
    reader.readAsDataURL(blob);
  });
}

// A photograph in the size that models look at: more would only be more to send.
function smaller(file, bitmap) {
  const scale = Math.min(1, EDGE / Math.max(bitmap.width, bitmap.height));
  const canvas = make("canvas", { width: Math.round(bitmap.width * scale), height: Math.round(bitmap.height * scale) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? file), "image/jpeg", 0.85));
}

// A small likeness of a picture, drawn here: the page loads nothing that is not the server's.
function thumbnail(bitmap) {
  const canvas = make("canvas", { width: 64, height: 64 });
  canvas.ariaHidden = "true";
  const edge = Math.min(bitmap.width, bitmap.height);
  canvas.getContext("2d").drawImage(bitmap, (bitmap.width - edge) / 2, (bitmap.height - edge) / 2, edge, edge, 0, 0, 64, 64);
  return canvas;
}

// Sends files that only this conversation may use. It need not have begun. All go where the first one goes, whatever is
// looked at meanwhile.
export function attach(files) {
  current.id ??= newKey();
  const id = current.id;
  const waiting = files.map((file) => {
    const each = { id, line: put(chip(file.name, "waiting", draw("file"))) };
    onTheirWay.add(each);
    return [file, each];
  });
  const all = (async () => {
    for (const [file, each] of waiting) await sendOne(file, each);
  })();
  const before = underWay.get(id);
  const there = Promise.all([before, all]).then(() => underWay.get(id) === there && underWay.delete(id));
  underWay.set(id, there);
}

// Fulfilled when what is being attached to a conversation can be used; null where nothing is.
export function attaching(id) {
  return underWay.get(id) ?? null;
}

async function sendOne(file, each) {
  const { id, line } = each;
  const status = line.querySelector("small");
  try {
    if (line.away) return;
    status.textContent = "sending";
    const path = conversationPath(id, `/attachments/${sentName(file)}`);
    const document = await upload(path, file, (share) => {
      status.textContent = share < 1 ? `sending, ${percent(share)}` : "reading";
    });
    if (line.away) return await send("DELETE", conversationPath(id, `/attachments/${encodeURIComponent(document.id)}`));
    const shown = attachment(document, id);
    line.replaceWith(shown);
    watch(document, shown, id);
    if (id === current.id) remember(id); // a reload finds it
    dispatchEvent(new Event("conversations"));
    announce(`${document.title} is attached to ${id === current.id ? "this" : "the earlier"} conversation.`);
  } catch (error) {
    line.classList.add("failed");
    status.textContent = forReaders([error.message, error.hint].filter(Boolean).join(" "));
    if (id === current.id) announce(`${file.name}: ${error.message}`);
    else toast(`${file.name} is not attached. ${status.textContent}`, "", 8);
  } finally {
    onTheirWay.delete(each);
  }
}

// Whether a long document instructs the assistant is known only when all of it was looked through.
async function watch(document, shown, id) {
  for (let now = document; now && now.status !== "ready" && shown.isConnected; ) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { attachments } = await get(conversationPath(id, "?limit=1")).catch(() => ({ attachments: [] }));
    now = attachments.find((each) => each.id === document.id);
    if (now?.suspect) return shown.replaceWith(attachment(now));
  }
}

export function showAttachments(documents) {
  const shown = documents.map((each) => attachment(each, current.id));
  const coming = [...onTheirWay].filter(({ id, line }) => id === current.id && !line.away).map(({ line }) => line);
  shelf.replaceChildren(...shown, ...coming, ...images.map(({ chip }) => chip));
  documents.forEach((each, place) => watch(each, shown[place], current.id));
  shelf.hidden = !shelf.childElementCount;
}

function attachment(document, id) {
  const fine = `only in this conversation, ${count(document.passages, "passage")}`;
  const told = document.suspect ? "holds instructions to the assistant" : fine;
  const line = chip(document.title || document.name, told, draw("file"), () =>
    send("DELETE", conversationPath(id, `/attachments/${encodeURIComponent(document.id)}`)),
  );
  line.querySelector("small").classList.toggle("suspect", Boolean(document.suspect));
  return line;
}

function chip(name, told, picture, removed = () => {}) {
  const line = make("li", { className: "attached" }, picture, make("span", { textContent: name }), make("small", { textContent: told }));
  const away = iconButton("close", `Take ${name} away`, async () => {
    try {
      await removed();
    } catch (error) {
      return toast([error.message, error.hint].filter(Boolean).join(" "));
    }
    line.away = true;
    line.remove();
    shelf.hidden = !shelf.childElementCount;
    at("message").focus();
  });
  line.append(away);
  return line;
}

function put(line) {
  shelf.hidden = false;
  shelf.append(line);
  shelf.scrollTop = shelf.scrollHeight;
  return line;
}
