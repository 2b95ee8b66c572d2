// One turn on the page: the question, the answer as it comes, its sources, and what was searched for and why.

import { checks, rails, stopped } from "./guard.js";
import { openSource } from "./panel.js";

const WAITING = {
  understand: "Understanding the question",
  condense: "Working out what to search for",
  plan: "Planning",
  retrieve: "Searching",
  compose: "Reading what was found",
  generate: "Writing",
};
const ORDER = Object.keys(WAITING);
const NAMES = { "guard in": "check the question", "guard out": "check the answer", verify: "check the citations" };
const DECISIONS = {
  new_question: "a new question",
  follow_up: "a follow-up",
  clarify: "a correction",
  reform: "the last answer in another form",
  recall: "a question about this conversation",
  refer_back: "back to something said earlier",
  social: "a courtesy",
  arithmetic: "a sum",
  data: "a question about data",
  literal: "as it was asked",
  rules: "completed from the conversation",
  model: "completed from the conversation",
  llm: "rewritten by the language model",
  caller: "as you wrote it",
  allow: "allowed",
  warn: "allowed, with a warning",
  redact: "allowed, with parts taken out",
  block: "stopped",
};
const PHASES = {
  exploring: "getting to know it",
  understanding: "asking how or why",
  applying: "putting it to use",
  debugging: "solving a problem",
  reviewing: "coming back to something",
};
const LEVELS = { confused: "find it unclear", knows_basics: "know the basics", advanced: "know it well" };

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function button(text, onclick, className = "quiet") {
  return make("button", { type: "button", className, textContent: text, onclick });
}

export class TurnView {
  // `ask(message, condensedQuery)` sends a message again, as it was or searched for in other words.
  constructor(message, ask) {
    this.message = message;
    this.ask = ask;
    this.streamed = "";
    this.trace = [];
    this.progress = make("p", { className: "progress", textContent: WAITING.understand });
    this.answerBox = make("div", { className: "answer" });
    this.element = make(
      "article",
      { className: "turn", ariaBusy: "true" },
      make("h2", { className: "question", textContent: message }),
      this.progress,
      this.answerBox,
    );
  }

  stage(done) {
    this.trace.push(done);
    const { stage } = done;
    const next = ORDER[ORDER.indexOf(stage) + 1];
    if (next) this.progress.textContent = WAITING[next];
  }

  plan({ steps }) {
    this.steps = work(steps).length;
    this.done = 0;
  }

  step() {
    this.done += 1;
    if (this.steps > 1) this.progress.textContent = `${this.done} of ${this.steps} steps done`;
  }

  text(piece) {
    this.streamed += piece;
    this.progress.remove();
    this.drawing ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.drawing = null;
    if (this.ended) return;
    const pieces = this.streamed.split(/ ?\[(\d{1,4})\]/);
    const nodes = pieces.map((piece, i) => (i % 2 ? make("span", { className: "cite", textContent: piece }) : piece));
    this.answerBox.replaceChildren(make("p", { className: "streaming" }, ...nodes));
  }

  answer(reply) {
    this.end();
    this.answerBox.innerHTML = reply.html; // rendered and made safe by the server
    const cited = new Map(reply.sources.map((source) => [source.number, source]));
    for (const mark of this.answerBox.querySelectorAll("button.cite")) {
      const source = cited.get(Number(mark.dataset.number));
      mark.title = source.title;
      mark.onclick = () => openSource(source, mark);
    }
    const doubts = doubted(this.answerBox, reply.claims ?? []);
    const notice = reply.notice ? make("p", { className: "notice calm", textContent: reply.notice }) : null;
    const sources = reply.sources.length ? documents(reply) : null;
    const next = reply.suggestions?.length ? suggestions(reply.suggestions, this.ask) : null;
    this.element.append(make("footer", {}, notice, checks(reply.trace ?? []), doubts, sources, next, searched(reply, this), why(reply)));
  }

  problem({ message, hint, calm }, [label, act] = ["Ask again", () => this.ask(this.message)]) {
    if (this.streamed) this.draw();
    this.end();
    const className = calm ? "notice calm" : "notice";
    const words = make("p", { className }, make("strong", { textContent: message }), hint ? ` ${hint}` : "");
    this.element.append(make("footer", {}, words, button(label, act, "plain")));
  }

  // A message that a rail has stopped: what was decided, by which rail, which words, how sure, and what to do.
  blocked(problem) {
    const reasons = stopped(this.trace, this.message);
    if (!reasons) return this.problem(problem, ["Put it another way", () => reword(this.message)]);
    this.problem({ ...problem, message: "This message was not answered.", hint: "", calm: true }, [
      "Put it another way",
      () => reword(this.message),
    ]);
    this.element.querySelector(".notice").append(reasons, BLOCKED_HINT);
    this.element.querySelector("footer").append(why({ trace: this.trace }));
  }

  end() {
    this.ended = true;
    this.progress.remove();
    this.element.ariaBusy = "false";
  }
}

const BLOCKED_HINT =
  "A check by words and patterns can be wrong. If you meant something else, ask for it in other words; to talk about " +
  "such a sentence, put it in quotation marks. You can go on with this conversation as before.";

// Puts a message back where it was written, to be changed.
function reword(message) {
  const box = document.getElementById("message");
  box.value = message;
  box.dispatchEvent(new Event("input"));
  box.focus();
}

// A turn that the store kept, whatever became of it.
export function restored(turn, ask) {
  const view = new TurnView(turn.prompt, ask);
  if (turn.status === "answered") {
    view.answer({ ...turn.record, text: turn.response, html: turn.html, sources: turn.sources });
    return view;
  }
  if (turn.html) view.answerBox.innerHTML = turn.html;
  if (turn.status === "pending") {
    const message = "This question is still being answered.";
    view.problem({ message, calm: true }, ["Look again", () => location.reload()]);
  } else {
    const interrupted = turn.status === "interrupted";
    const { message, hint } = turn.error ?? { message: "This answer was interrupted." };
    view.trace = turn.record?.trace ?? [];
    if (turn.status === "blocked") view.blocked({ message, hint });
    else view.problem({ message, hint: interrupted ? "" : hint, calm: interrupted });
  }
  return view;
}

// The sources, those of one document together under its title.
function documents({ sources, text }) {
  const groups = Map.groupBy(sources.toSorted((one, other) => one.number - other.number), (source) => source.source);
  const items = [...groups.values()].map((cited) => {
    if (cited.length === 1) return make("li", {}, chip(cited[0], text, titled(cited[0])));
    return make("li", { className: "group" }, ...titled(cited[0]), ...cited.map((source) => chip(source, text)));
  });
  return make("ul", { className: "sources", ariaLabel: "Sources" }, ...items);
}

// Questions that the library can answer next; a click asks one.
function suggestions(questions, ask) {
  const items = questions.map((question) => make("li", {}, button(question, () => ask(question), "suggestion")));
  return make("ul", { className: "suggestions", ariaLabel: "You could ask next" }, ...items);
}

function titled({ title, reference }) {
  const { authors = [], year } = reference ?? {};
  const families = authors.map((author) => author.split(",")[0]);
  const by = families.length > 2 ? `${families[0]} et al.` : families.join(" and ");
  const said = [by, year].filter(Boolean).join(" ");
  return [make("span", { textContent: title }), said ? make("small", { textContent: said }) : null];
}

// A citation: its number and place, and the sentence it rests on where the answer says it in other words.
function chip(source, text, title = []) {
  const { number, page, heading, quote } = source;
  const element = button("", () => openSource(source, element), "chip");
  const place = page ? `page ${page}` : heading.split(" > ").at(-1);
  const shown = place && place !== source.title ? make("small", { textContent: place }) : null;
  const sentence = quote && !text.includes(quote) ? make("q", { textContent: quote }) : null;
  element.append(...[make("span", { className: "number", textContent: number }), ...title, shown, sentence].filter(Boolean));
  return element;
}

// Marks the sentences that the sources do not bear out, and says in a line what that means.
function doubted(box, claims) {
  const doubts = claims.filter(({ supported }) => !supported);
  if (!doubts.length) return null;
  const places = letters(box);
  const flat = places.map(({ letter }) => letter).join("");
  const found = [];
  for (const { text, numbers } of doubts) {
    const sought = text.match(LETTERS)?.join("") ?? "";
    const start = flat.indexOf(sought, found.at(-1)?.end ?? 0);
    const title = numbers.length ? "The cited passage does not say this" : "No passage is cited for this";
    if (start >= 0) found.push({ start, end: start + sought.length, title });
  }
  // The last first: a text that is split keeps its beginning.
  for (const { start, end, title } of found.reverse()) wrap(places.slice(start, end), title);
  const words = doubts.length === 1 ? "One sentence, underlined, is" : `${doubts.length} sentences, underlined, are`;
  return make("p", { className: "doubts", textContent: `${words} not borne out by what is cited: a check of words, not of truth.` });
}

const LETTERS = /[\p{L}\p{N}]/gu;

// Every letter and digit of an answer and where it stands, without the citations.
function letters(box) {
  const places = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".cite")) continue;
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

function searched(reply, view) {
  const stages = new Map((reply.trace ?? []).map((stage) => [stage.stage, stage]));
  const line = make("p", { className: "searched" });
  const searches = stages.get("retrieve")?.details.searches ?? [];
  if (!searches.length) {
    line.append("Searched for nothing", because(stages.get("plan")));
    return line;
  }
  const quoted = (list) => list.map((each) => `“${each}”`).join(" and ");
  const whole = searches.includes(reply.condensed_query); // else its parts were searched, each by itself
  const others = whole ? searches.filter((each) => each !== reply.condensed_query) : [];
  const query = make("b", { textContent: quoted(whole ? [reply.condensed_query] : searches) });
  const edit = button("Edit", () => line.replaceWith(editor(reply.condensed_query, line, view)), "link");
  edit.ariaLabel = "Edit what is searched for and ask again";
  const also = others.length ? `, and for ${quoted(others)}` : "";
  line.append("Searched for ", query, " ", edit, also, because(stages.get("condense")));
  return line;
}

function because(stage) {
  if (!stage?.reason) return "";
  const reason = stage.reason.replace(/\.$/, "");
  return make("span", { className: "because", textContent: ` — because ${reason}` });
}

function editor(query, line, view) {
  const input = make("input", { type: "text", value: query, ariaLabel: "Search for" });
  const form = make("form", { className: "editor" }, input, make("button", { className: "plain", textContent: "Search for this" }));
  const close = () => form.replaceWith(line);
  form.append(button("Cancel", close));
  form.onsubmit = (event) => {
    event.preventDefault();
    close();
    view.ask(view.message, input.value.trim() || undefined);
  };
  form.addEventListener("keydown", (event) => event.key === "Escape" && close());
  requestAnimationFrame(() => input.focus());
  return form;
}

// Where the conversation stands, in a line: what was understood of it, not what was answered.
function standing(state) {
  if (!state?.turn) return null;
  const known = (state.knowledge ?? []).find(({ topic }) => topic === state.topic);
  const parts = [
    `Turn ${state.turn}`,
    state.topic && `about ${state.topic}`,
    PHASES[state.phase],
    known && `you ${LEVELS[known.level]} (“${known.evidence}”)`,
    state.mood !== "neutral" && state.mood_evidence && `you seem ${state.mood} (“${state.mood_evidence}”)`,
    state.open_questions?.length && `not answered yet: ${state.open_questions.map((each) => `“${each}”`).join(" ")}`,
  ];
  return make("p", { className: "standing", textContent: parts.filter(Boolean).join(" · ") });
}

// The steps of a plan that find something, without the answer that is made of it.
function work(steps = []) {
  return steps.filter(({ tool }) => !["say", "reform", "answer"].includes(tool));
}

function steps(plan) {
  const found = work(plan?.steps);
  if (found.length < 2 && found[0]?.tool === "rag") return null;
  const items = found.map(({ tool, input, result }) => {
    const came = result?.error || result?.text || (result?.found === 1 ? "1 passage" : `${result?.found ?? 0} passages`);
    const name = make("i", { textContent: tool === "rag" ? "search" : tool });
    return make("li", {}, name, ` “${input}” → ${came}`, make("time", { textContent: milliseconds(result?.ms ?? 0) }));
  });
  return items.length ? make("ul", { className: "steps", ariaLabel: "Steps" }, ...items) : null;
}

function why({ trace = [], state, plan }) {
  const total = trace.reduce((sum, stage) => sum + stage.ms, 0);
  const rows = trace.map(({ stage, decision, reason, ms, details }) =>
    make(
      "li",
      {},
      make("b", { textContent: NAMES[stage] ?? stage }),
      make(
        "span",
        {},
        DECISIONS[decision] ?? decision,
        make("small", { textContent: reason }),
        stage === "plan" ? steps(plan) : null,
        rails(details),
      ),
      make("time", { textContent: milliseconds(ms) }),
    ),
  );
  const summary = make("summary", { textContent: `How this came about, in ${milliseconds(total)}` });
  return make("details", { className: "why" }, summary, standing(state), make("ol", {}, ...rows));
}

function milliseconds(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 0.1) return "< 0.1 ms";
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
