// The sentences of an answer that its sources do not bear out.

import { clipped, make } from "./dom.js";

const LETTERS = /[\p{L}\p{N}]/gu;

// Marks them, and says in a line what that means; null where there are none.
export function doubted(box, claims) {
  const doubts = claims.filter(({ supported }) => !supported);
  if (!doubts.length) return null;
  const places = letters(box);
  const flat = places.map(({ letter }) => letter).join("");
  const [found, unmarked] = [[], []];
  for (const { text, numbers } of doubts) {
    const sought = text.match(LETTERS)?.join("") ?? "";
    const start = flat.indexOf(sought, found.at(-1)?.end ?? 0);
    const title = numbers.length ? "The cited passage does not say this" : "No passage is cited for this";
    if (start < 0 || !sought) unmarked.push(text);
    else found.push({ start, end: start + sought.length, title });
  }
  // The last first: a text that is split keeps its beginning.
  for (const { start, end, title } of found.reverse()) wrap(places.slice(start, end), title);
  // A sentence that looks otherwise where it is shown, as a formula does, cannot be underlined there: it is quoted here.
  const which = [found.length ? "underlined" : "", ...unmarked.map((text) => `“${clipped(text)}”`)].filter(Boolean).join(" and ");
  const words = doubts.length === 1 ? `One sentence, ${which}, is` : `${doubts.length} sentences, ${which}, are`;
  return make("p", { className: "doubts", textContent: `${words} not borne out by what is cited: a check of words, not of truth.` });
}

// Every letter and digit of an answer and where it stands, without the citations.
function letters(box) {
  const places = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".cite, math")) continue;
    for (const { 0: letter, index } of node.data.matchAll(LETTERS)) places.push({ letter, node, index });
  }
  return places;
}

function wrap(places, title) {
  const nodes = [...Map.groupBy(places, ({ node }) => node)];
  for (const [at, [node, inside]] of [...nodes.entries()].reverse()) {
    const range = document.createRange();
    range.setStart(node, at === 0 ? inside[0].index : 0);
    range.setEnd(node, at === nodes.length - 1 ? inside.at(-1).index + inside.at(-1).letter.length : node.data.length);
    range.surroundContents(make("mark", { className: "doubt", title }));
  }
}
