// One turn on the page: the question, the answer as it comes, and what stands under it.

import { actions, editQuestion } from "./actions.js";
import { button, clipped, iconButton, make } from "./dom.js";
import { doubted } from "./doubts.js";
import { checks, stopped } from "./guard.js";
import { openSource } from "./panel.js";
import { forReaders } from "./readers.js";
import { searched } from "./searched.js";
import { Sketch } from "./sketch.js";
import { documents } from "./sources.js";
import { timeline, work } from "./timeline.js";

const WAITING = {
  understand: "Understanding the question",
  condense: "Working out what to search for",
  plan: "Planning",
  retrieve: "Searching",
  compose: "Reading what was found",
  generate: "Writing",
};
const LONG = { characters: 800, lines: 12 }; // a question that is longer is folded
const ORDER = Object.keys(WAITING);
const BLOCKS = "p, ul, ol, blockquote, h1, h2, h3, h4, h5, h6, table";
const BLOCKED_HINT =
  "A check by words and patterns can be wrong. If you meant something else, ask for it in other words; to talk about " +
  "such a sentence, put it in quotation marks. You can go on with this conversation as before.";

export class TurnView {
  // `host` is the conversation that the turn is in: what its buttons do is done there.
  constructor(message, host, { number = null, images = [] } = {}) {
    Object.assign(this, { message, host, number, images, key: null, reply: null, ended: false, trace: [], streamed: "" });
    this.progress = make("p", { className: "progress", textContent: WAITING.understand });
    this.answerBox = make("div", { className: "answer" });
    this.sketch = new Sketch(this.answerBox);
    const spoken = message ?? "";
    this.question = make("h2", { className: "question", dir: "auto", textContent: spoken, hidden: !spoken });
    this.edit = iconButton("edit", "Change this question and ask it in a branch", () => editQuestion(this), "quiet small edit");
    const asked = make("div", { className: "asked" }, this.question, spoken ? this.edit : null, unfold(this.question));
    const properties = { className: "turn", ariaBusy: "true", ariaLabel: clipped(spoken) || "The assistant" };
    this.element = make("article", properties, asked, pictures(images), this.progress, this.answerBox);
  }

  begun(number) {
    this.number = number;
    this.element.id = `turn-${number}`;
  }

  stage(done) {
    this.trace.push(done);
    const next = ORDER[ORDER.indexOf(done.stage) + 1];
    if (next) this.wait(WAITING[next]);
  }

  wait(words) {
    if (!this.ended) this.progress.textContent = words;
  }

  plan({ steps }) {
    this.steps = work(steps).length;
    this.done = 0;
  }

  step() {
    this.done += 1;
    if (this.steps > 1) this.wait(`${this.done} of ${this.steps} steps done`);
  }

  // The connection went, or came again.
  connection(lost) {
    this.progress.classList.toggle("lost", lost);
    if (lost) this.wait("The connection was lost. Trying again");
    else if (this.streamed) this.progress.remove();
    else this.wait(WAITING.generate);
    if (lost && !this.progress.isConnected) this.answerBox.after(this.progress);
  }

  text(piece) {
    this.streamed += piece;
    this.progress.remove();
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = null;
      if (this.ended) return;
      this.sketch.draw(this.streamed);
      this.host.grown();
    });
  }

  // Shows what the server has rendered and made safe: each block in the direction of its script, headings below the question.
  show(html) {
    this.answerBox.innerHTML = html;
    for (const block of this.answerBox.querySelectorAll(BLOCKS)) block.dir = "auto";
    for (const quote of this.answerBox.querySelectorAll("blockquote")) {
      if (quote.firstElementChild?.matches(":dir(rtl)")) quote.dir = "rtl"; // its own blocks do not count for it
    }
    for (const wide of this.answerBox.querySelectorAll("table, pre")) wide.tabIndex = 0; // keys can scroll it
    for (const heading of this.answerBox.querySelectorAll("h1, h2, h3, h4")) heading.ariaLevel = Number(heading.tagName[1]) + 2;
  }

  cites(all) {
    const sources = new Map(all.map((source) => [source.number, source]));
    for (const mark of this.answerBox.querySelectorAll("button.cite")) {
      const source = sources.get(Number(mark.dataset.number));
      if (!source) continue;
      mark.title = source.title;
      mark.onclick = () => openSource(source, mark, all);
    }
  }

  answer(reply) {
    this.end();
    this.reply = reply;
    this.show(reply.html);
    this.cites(reply.sources);
    const { claims = [], trace = [], suggestions: next = [] } = reply;
    this.element.append(
      make(
        "footer",
        {},
        reply.notice ? make("p", { className: "notice calm", textContent: forReaders(reply.notice) }) : null,
        checks(trace),
        doubted(this.answerBox, claims),
        reply.sources.length ? documents(reply) : null,
        next.length ? suggestions(next, this.host) : null,
        searched(reply, this),
        make("div", { className: "foot" }, timeline(reply), actions(this)),
      ),
    );
  }

  problem({ message, hint, calm, sources = [] }, [label, act] = ["Ask again", () => this.host.again(this)]) {
    if (this.streamed) this.sketch.draw(this.streamed, true);
    this.end();
    const className = calm ? "notice calm" : "notice";
    const words = make("p", { className }, make("strong", { textContent: message }), hint ? ` ${forReaders(hint)}` : "");
    const cited = sources.length ? documents({ sources, text: this.answerBox.textContent }) : null;
    this.element.append(make("footer", {}, words, cited, button(label, act, "plain")));
  }

  // A message that a rail has stopped: what was decided, by which rail, which words, how sure, and what to do.
  blocked(problem) {
    const reasons = stopped(this.trace, this.message);
    const reword = ["Put it another way", () => this.host.reword(this.message)];
    if (!reasons) return this.problem(problem, reword);
    this.problem({ ...problem, message: "This message was not answered.", hint: "", calm: true }, reword);
    this.element.querySelector(".notice").append(reasons, BLOCKED_HINT);
    this.element.querySelector("footer").append(timeline({ trace: this.trace }) ?? "");
  }

  end() {
    this.ended = true;
    this.progress.remove();
    this.element.querySelector(":scope > footer")?.remove();
    this.element.ariaBusy = "false";
  }

  // A turn that the store kept, whatever became of it.
  restore(turn) {
    this.begun(turn.number);
    this.pending = turn.status === "pending";
    this.feedback = turn.feedback ?? null;
    this.trace = turn.record?.trace ?? [];
    if (turn.status === "answered") return this.answer({ ...turn.record, text: turn.response, html: turn.html, sources: turn.sources });
    const { sources } = turn;
    if (turn.html) this.show(turn.html);
    if (turn.html) this.cites(sources);
    if (this.pending) {
      const message = "This question is still being answered.";
      return this.problem({ message, calm: true }, ["Look again", () => location.reload()]);
    }
    const interrupted = turn.status === "interrupted";
    const { message, hint } = turn.error ?? { message: "This answer was interrupted." };
    if (turn.status === "blocked") this.blocked({ message, hint });
    else this.problem({ message, hint: interrupted ? "" : hint, calm: interrupted, sources });
  }
}

// Questions that the library can answer next; a click asks one.
function suggestions(questions, host) {
  const items = questions.map((question) => make("li", { dir: "auto" }, button(question, () => host.send(question), "suggestion")));
  return make("ul", { className: "suggestions", ariaLabel: "You could ask next" }, ...items);
}

// The names of the pictures that were sent with a message.
function pictures(images) {
  if (!images.length) return null;
  return make("p", { className: "with", textContent: `With ${images.map(({ name }) => name).join(", ")}` });
}

// Folds a long question; gives the button that unfolds it, or null for any other.
function unfold(question) {
  const text = question.textContent;
  if (text.length <= LONG.characters && text.split("\n").length <= LONG.lines) return null;
  question.classList.add("folded");
  question.tabIndex = -1; // whoever uses keys goes on where the button was
  const more = button("Show all of it", () => (question.classList.remove("folded"), question.focus({ preventScroll: true }), more.remove()), "link");
  return more;
}
