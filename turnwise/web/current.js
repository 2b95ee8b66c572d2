// The conversation that is shown: which one it is, its turns on the page, and what is being answered in it.

import { at } from "./dom.js";

export const current = {
  id: null, // null before its first question
  title: "",
  ancestors: [], // the conversations that it branched from, nearest first
  views: new Map(), // the turns on the page, by number
  playing: [], // the turns that are being answered, as {view, controller, stream, stopped}
  next: null, // what to ask as soon as the conversation is shown, as [text, options]
};

// A conversation's place in the URL, so that a reload or a bookmark finds it; with a number, one of its turns.
export function address(id, number = null) {
  return `#/${encodeURIComponent(id)}${number ? `/${number}` : ""}`;
}

export function addressed() {
  const [, id = "", number = ""] = location.hash.split("/");
  try {
    return { id: decodeURIComponent(id) || null, number: Number(number) || null };
  } catch {
    return { id: location.hash, number: null };
  }
}

export function remember(id) {
  current.id = id;
  if (addressed().id === id) return;
  history.replaceState(null, "", address(id));
  dispatchEvent(new Event("addressed"));
}

// Puts a turn where its number says: others may have asked at the same time, and every page shows the same order.
export function inOrder(view) {
  const later = [...current.views.values()].filter(({ number }) => number > view.number);
  const next = later.sort((one, other) => one.number - other.number)[0]?.element ?? null;
  if (!view.element.isConnected || view.element.nextElementSibling !== next) at("turns").insertBefore(view.element, next);
}

export function entitle(title) {
  current.title = title;
  document.title = title ? `${title} – Turnwise` : "Turnwise";
}

// --- staying at the end of an answer that grows ------------------------------------------------------------------

let atEnd = true;
new IntersectionObserver((seen) => (atEnd = seen.at(-1).isIntersecting), { rootMargin: "0px 0px 120px 0px" }).observe(at("end"));

export function isAtEnd() {
  return atEnd;
}

// Follows the answer, for a reader who is at its end.
export function grown() {
  if (atEnd) toEnd();
}

export function toEnd() {
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
