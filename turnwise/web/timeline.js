// How an answer came about: every stage of the turn as a bar to scale, with what it decided and why.

import { count, make, milliseconds } from "./dom.js";
import { rails } from "./guard.js";

const NAMES = { "guard in": "check the question", "guard out": "check the answer", verify: "check the citations" };
const DECISIONS = {
  new_question: "a new question",
  follow_up: "a follow-up",
  clarify: "a correction",
  reform: "the last answer in another form",
  recall: "a question about this conversation or library",
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
const TOOLS = { say: "words of its own", reform: "the last answer in another form" };
const TOLD = new Set(["rails", "steps", "searches", "query_id"]); // details that are told elsewhere, in words

// A fold that is filled when it is first opened: a conversation of hundreds of turns keeps few elements.
export function timeline({ trace = [], plan }) {
  if (!trace.length) return null;
  const total = trace.reduce((sum, stage) => sum + stage.ms, 0);
  const summary = make("summary", { textContent: `How this came about, in ${milliseconds(total)}` });
  const fold = make("details", { className: "why" }, summary);
  fold.addEventListener("toggle", () => {
    if (fold.childElementCount === 1) fold.append(rows(trace, plan, total));
    if (fold.open) fold.scrollIntoView({ block: "nearest" }); // below the last answer it would unfold out of sight
  });
  return fold;
}

function rows(trace, plan, total) {
  let from = 0;
  const items = trace.map(({ stage, decision, reason, ms, details }) => {
    const bar = make("span", { className: "span", ariaHidden: "true" }, make("i", {}));
    bar.style.setProperty("--from", from / (total || 1));
    bar.style.setProperty("--share", ms / (total || 1));
    from += ms;
    const said = stage === "plan" ? planned(decision) : (DECISIONS[decision] ?? decision);
    const told = make("span", { className: "told" }, said, make("small", { textContent: reason }));
    const acted = decision !== "allow" && rails(details);
    told.append(...[stage === "plan" ? steps(plan) : null, acted, more(details, !acted && rails(details))].filter(Boolean));
    return make("li", {}, make("b", { textContent: NAMES[stage] ?? stage }), bar, make("time", { textContent: milliseconds(ms) }), told);
  });
  return make("ol", { ariaLabel: "The stages of this turn, in order" }, ...items);
}

// "3 searches, calculator" of "rag + rag + rag + calculator + answer".
function planned(decision) {
  const tools = decision.split(" + ").filter((tool) => tool !== "answer");
  const searches = tools.filter((tool) => tool === "rag").length;
  const named = tools.filter((tool) => tool !== "rag").map((tool) => TOOLS[tool] ?? tool);
  return [searches && count(searches, "search", "searches"), ...named].filter(Boolean).join(", ") || decision;
}

// The values behind a decision, for those who want to see them.
function more(details = {}, unremarkable = null) {
  const values = Object.entries(details).filter(([name, value]) => !TOLD.has(name) && value !== "" && !isEmpty(value));
  if (!values.length && !unremarkable) return null;
  const terms = values.flatMap(([name, value]) => [
    make("dt", { textContent: name.replaceAll("_", " ") }),
    make("dd", { textContent: typeof value === "object" ? inLine(value) : String(value) }),
  ]);
  const summary = make("summary", { textContent: "Details" });
  return make("details", { className: "values" }, summary, terms.length ? make("dl", {}, ...terms) : null, unremarkable || null);
}

function isEmpty(value) {
  return value === null || (typeof value === "object" && !Object.keys(value).length);
}

function inLine(value) {
  if (value === null || typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(inLine).join(typeof value[0] === "object" ? "\n" : ", ");
  return Object.entries(value).map(([name, inner]) => `${name} ${inLine(inner)}`).join(" · ");
}

// The steps of a plan that find something, without the answer that is made of it.
export function work(steps = []) {
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
