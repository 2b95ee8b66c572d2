// The keyboard: what single keys do outside of fields, and the sheet that lists them.

import { stop } from "./chat.js";
import { current } from "./current.js";
import { at } from "./dom.js";
import { openDocuments } from "./documents.js";

const TYPING = "input, textarea, select, [contenteditable]";

export function shortcuts({ startNew, showList }) {
  const keys = {
    "/": () => (showList(true), at("search").focus()),
    n: startNew,
    a: () => at("message").focus(),
    d: () => (openDocuments(), at("document-search").focus()),
    j: () => go(1),
    k: () => go(-1),
    s: () => document.querySelector("#turns > :last-child button.cite, #turns > :last-child .chip")?.click(),
    "?": () => at("shortcuts").showModal(),
  };
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open], :popover-open")) return;
    const stops = event.key === "Escape" && current.playing.length > 0;
    if (stops && (!event.defaultPrevented || event.target === at("message"))) return act(event, stop);
    if (event.defaultPrevented) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return act(event, startNew);
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPING)) return;
    if (keys[event.key]) act(event, keys[event.key]);
  });
  at("show-shortcuts").addEventListener("click", () => at("shortcuts").showModal());
}

function act(event, what) {
  event.preventDefault();
  what();
}

// To the next or the previous turn; its question takes the focus, so that reading goes on from there.
function go(way) {
  const turns = [...at("turns").children];
  const here = turns.findLastIndex((turn) => turn.getBoundingClientRect().top <= 90);
  const turn = turns[Math.max(0, Math.min(turns.length - 1, here + way))];
  if (!turn) return;
  turn.tabIndex = -1;
  turn.focus({ preventScroll: true });
  turn.scrollIntoView({ block: "start" });
}
