// What the library holds and who answers from it; and what to ask where nothing has been asked yet.

import { me } from "./access.js";
import { get } from "./api.js";
import { send } from "./chat.js";
import { at, count, make } from "./dom.js";
import { offerCollections } from "./documents.js";

export async function describeLibrary() {
  clearTimeout(describeLibrary.timer);
  const library = await get("/api/library").catch(() => null);
  if (!library) return;
  at("library").replaceChildren(...line(library));
  offerCollections((library.collections ?? []).filter(Boolean).map((name) => ({ name })));
  at("welcome-text").textContent = library.documents
    ? "Every answer shows the sentences it rests on. Go on as you would with a person: ask “how does it compare?”, " +
      "and Turnwise works out what you mean, searches for that, and tells you what it searched for."
    : me.edit
      ? "The library is empty so far. Drop a few files anywhere on this page, and ask about them as soon as they are read."
      : "The library is empty so far. Someone who may change it has to add documents first.";
  at("welcome-add").hidden = !me.edit || library.documents > 0;
  const examples = (library.examples ?? []).map((text) =>
    make("li", {}, make("button", { type: "button", textContent: text, onclick: () => send(text) })),
  );
  at("examples").replaceChildren(...examples);
  if (library.pending) describeLibrary.timer = setTimeout(describeLibrary, 3000);
}

function line({ documents, pending, offline, local, model }) {
  const learning = pending ? `${pending.toLocaleString("en")} passages still being learned` : "";
  const answering = offline && !local ? "answering offline" : `answers by ${model}`;
  const where = offline ? ", nothing leaves this machine" : "";
  return [[count(documents, "document"), learning, answering].filter(Boolean).join(" · "), make("span", { textContent: where })];
}

addEventListener("library", describeLibrary);
