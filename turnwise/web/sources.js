// The sources of an answer, those of one document together under its title.

import { button, cited, make } from "./dom.js";
import { openSource } from "./panel.js";

export function documents({ sources, text }) {
  const ordered = sources.toSorted((one, other) => one.number - other.number);
  const groups = Map.groupBy(ordered, (source) => source.source);
  const items = [...groups.values()].map((found) => {
    if (found.length === 1) return make("li", {}, chip(found[0], text, ordered, titled(found[0])));
    return make("li", { className: "group" }, ...titled(found[0]), ...found.map((source) => chip(source, text, ordered)));
  });
  return make("ul", { className: "sources", ariaLabel: "Sources" }, ...items);
}

function titled({ title, reference }) {
  const said = cited(reference ?? {});
  return [make("span", { textContent: title }), said ? make("small", { textContent: said }) : null];
}

// A citation: its number and place, and the sentence it rests on where the answer says it in other words.
function chip(source, text, all, title = []) {
  const { number, page, heading, quote } = source;
  const element = button("", () => openSource(source, element, all), "chip");
  const place = page ? `page ${page}` : heading.split(" > ").at(-1);
  const shown = place && place !== source.title ? make("small", { textContent: place }) : null;
  const sentence = quote && !text.includes(quote) ? make("q", { textContent: quote }) : null;
  element.append(...[make("span", { className: "number", textContent: number }), ...title, shown, sentence].filter(Boolean));
  return element;
}

// An answer as it is pasted elsewhere: its text, and the sources behind its numbers.
export function asText({ text, sources }) {
  const lines = sources
    .toSorted((one, other) => one.number - other.number)
    .map(({ number, title, reference, page, source }) => {
      const place = [cited(reference ?? {}), page && `page ${page}`].filter(Boolean).join(", ");
      return `[${number}] ${title}${place ? `, ${place}` : ""} (${source})`;
    });
  return [text, lines.join("\n")].filter(Boolean).join("\n\n");
}
