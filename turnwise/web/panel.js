// The source behind a citation: the passage where it stands in its document, and the way from one citation to the next.

import { get } from "./api.js";
import { current } from "./current.js";
import { at, make } from "./dom.js";
import { closeSide, isOpen, openSide } from "./side.js";

const REACH = 3; // passages on each side
const panel = at("source");
const part = (name) => at(`source-${name}`);
const [earlier, later] = [part("earlier"), part("later")];
let shown = { source: null, all: [], opener: null, passages: [] };

export function openSource(source, opener, all = [source]) {
  shown.opener?.classList.remove("open");
  opener.classList.add("open");
  shown = { source, opener, passages: [], all: all.toSorted((one, other) => one.number - other.number) };
  describe(source);
  part("text").replaceChildren(cited(source.text, source.quote));
  earlier.hidden = later.hidden = true;
  openSide(panel, () => shown.opener, "reading");
  panel.scrollTop = 0;
  showMark();
  part("title").focus({ preventScroll: true });
  opener.scrollIntoView({ block: "nearest" });
  if (source.passage_id > 0) surround(source);
}

export function closeSource() {
  if (isOpen(panel)) closeSide();
}

function describe(source) {
  const { authors = [], year, url } = source.reference ?? {};
  part("number").textContent = source.number;
  part("title").textContent = source.title;
  const place = [authors.join("; "), year, source.heading.replaceAll(" > ", " › "), source.page && `page ${source.page}`];
  part("place").textContent = place.filter(Boolean).join(" · ");
  const web = /^https?:/.test(url ?? "") ? url : /^https?:/.test(source.source) ? source.source : "";
  const link = web && make("a", { href: web, target: "_blank", rel: "noopener noreferrer", className: "link", textContent: web });
  part("path").replaceChildren(link || source.source);
  const rank = shown.all.indexOf(source);
  part("of").textContent = shown.all.length > 1 ? `${rank + 1} of ${shown.all.length}` : "";
  for (const name of ["previous", "next"]) part(name).hidden = shown.all.length < 2;
}

// The text around the passage, once it is here; the passage alone where its document has gone.
async function surround(source) {
  const found = await around(source.passage_id);
  if (!found || shown.source !== source) return;
  shown.passages = found;
  redraw();
  showMark();
}

async function around(id) {
  const here = current.id ? `&conversation=${encodeURIComponent(current.id)}` : ""; // what is attached to it counts too
  const { passages } = await get(`/api/passages/${id}?reach=${REACH}${here}`).catch(() => ({ passages: null }));
  return passages;
}

function redraw() {
  const { source, passages } = shown;
  const blocks = passages.map((passage, place) => {
    const headed = passage.heading && passage.heading !== passages[place - 1]?.heading;
    const heading = headed ? make("h3", { textContent: passage.heading.split(" > ").at(-1) }) : null;
    const turned = passage.page && passage.page !== passages[place - 1]?.page;
    const page = turned ? make("small", { className: "page", textContent: `page ${passage.page}` }) : null;
    const text = passage.id === source.passage_id ? cited(passage.text, source.quote) : make("p", { dir: "auto", textContent: passage.text });
    return make("div", { className: "around" }, heading, page, text);
  });
  part("text").replaceChildren(...blocks);
  const after = passages.length - 1 - passages.findIndex(({ id }) => id === source.passage_id);
  earlier.hidden = passages[0].position === 0;
  later.hidden = !after || after % REACH > 0; // the document ends here
}

// The passage with the quoted sentence marked, however either breaks its lines, or the row that the quote tells in words.
function cited(text, quote = "") {
  const words = quote.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const found = words.length ? new RegExp(words.join("\\s+")).exec(text) ?? rowLike(text, quote) : null;
  if (!found) return make("p", { className: "cited", dir: "auto", textContent: text });
  const mark = make("mark", { textContent: found[0] });
  return make("p", { className: "cited", dir: "auto" }, text.slice(0, found.index), mark, text.slice(found.index + found[0].length));
}

function rowLike(text, quote) {
  const split = (string) => string.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
  const told = new Set(split(quote));
  const name = quote.includes(": ") ? split(quote.split(": ")[0]).at(-1) : undefined;
  const lines = text.split("\n");
  const named = lines.filter((line) => split(line).includes(name)); // the header of a table does not name the row
  const shares = (line) => {
    const words = split(line);
    const ofLine = words.filter((word) => told.has(word)).length / (words.length || 1);
    const ofQuote = [...told].filter((word) => words.includes(word)).length / (told.size || 1);
    return [ofLine, / \| |; /.test(line) ? ofQuote : 0]; // a quote may tell one cell of a row, but a paragraph is no row
  };
  const score = (line) => shares(line)[0] + shares(line)[1];
  const best = (named.length ? named : lines).reduce((one, other) => (score(other) > score(one) ? other : one), "");
  return Math.max(...shares(best)) > 0.5 ? { 0: best, index: text.indexOf(best) } : null;
}

function showMark() {
  const mark = part("text").querySelector("mark, .cited");
  if (!mark) return;
  const [inside, outside] = [mark.getBoundingClientRect(), panel.getBoundingClientRect()];
  panel.scrollTop += inside.top - outside.top - Math.min(outside.height / 3, 180);
}

async function extend(way) {
  const { source, passages } = shown;
  const edge = way < 0 ? passages[0] : passages.at(-1);
  const found = (await around(edge.id)) ?? [];
  if (shown.source !== source) return;
  const fresh = found.filter(({ position }) => (way < 0 ? position < edge.position : position > edge.position));
  const height = panel.scrollHeight;
  shown.passages = way < 0 ? [...fresh, ...passages] : [...passages, ...fresh];
  redraw();
  if (way < 0) panel.scrollTop += panel.scrollHeight - height;
  else if (fresh.length < REACH) later.hidden = true;
}

// The citation before or after this one, among those of the same answer.
function step(way) {
  const { all, source, opener } = shown;
  if (all.length < 2) return;
  const next = all.at((all.indexOf(source) + way) % all.length);
  const turn = opener.closest(".turn");
  const mark = turn?.querySelector(`button.cite[data-number="${next.number}"]`);
  openSource(next, mark ?? opener, all);
}

panel.addEventListener("closed", () => shown.opener?.classList.remove("open"));
panel.addEventListener("keydown", (event) => {
  const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (way) (event.preventDefault(), step(way));
});
earlier.addEventListener("click", () => extend(-1));
later.addEventListener("click", () => extend(1));
part("previous").addEventListener("click", () => step(-1));
part("next").addEventListener("click", () => step(1));
