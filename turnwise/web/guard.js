// What the rails decided about a turn, in words: what was stopped, taken out or doubted, by which of them, and how sure
// they were.

import { make, percent } from "./dom.js";

const RAILS = {
  injection: "orders to the assistant",
  exchange: "the conversation as a whole",
  secrets: "keys and passwords",
  pii: "personal data",
  topics: "topics not for here",
  off_topic: "away from the subject",
  leak: "what must stay inside",
  links: "links and pictures",
  grounding: "borne out by the sources",
  instructions: "orders hidden in documents",
  limit: "how many messages",
  rate_limit: "how many messages",
};
const DONE = { block: "stopped", redact: "taken out", warn: "noticed", allow: "nothing found" };
const UNJUDGED = { failed: "could not judge", "timed out": "took too long to judge", skipped: "had nothing to judge by" };

function named(rail) {
  return RAILS[rail] ?? rail.replaceAll("_", " ");
}


function judged({ state }) {
  return !(state in UNJUDGED);
}

function sure(finding) {
  return judged(finding) ? `${percent(finding.score)} sure, acts from ${percent(finding.threshold)}` : "";
}

// The findings that something was done about, by their stage: "guard in" or "guard out".
function acted(trace, stage) {
  const { decision, details } = trace.find((each) => each.stage === stage) ?? {};
  if (!details?.rails || decision === "allow") return [];
  return Object.values(details.rails).filter(({ action }) => action !== "allow");
}

// The words that a finding means. Python counts characters, and so does Array.from.
function words(spans, text) {
  const letters = Array.from(text);
  const found = spans.map(({ start, end }) => letters.slice(start, end).join("").trim());
  return [...new Set(found.filter(Boolean))];
}

// Why a message was stopped; nothing where no rail says so.
export function stopped(trace, message) {
  const findings = acted(trace, "guard in").filter(({ action }) => action === "block");
  if (!findings.length) return null;
  const items = findings.map((finding) => {
    const quoted = words(finding.spans, message).filter((each) => !finding.reason.includes(each));
    const means = quoted.length ? ` (${quoted.slice(0, 3).map((each) => `“${each}”`).join(", ")})` : "";
    const how = ["Check for ", named(finding.rail), sure(finding) && ` · ${sure(finding)}`].filter(Boolean).join("");
    return make("li", {}, `${capital(finding.reason)}${means}.`, make("small", { textContent: how }));
  });
  return make("ul", { className: "findings" }, ...items);
}

// What was taken out or noticed in a turn that was answered, and which passages were left out.
export function checks(trace) {
  const lines = [
    ...acted(trace, "guard in").map((finding) => told(finding, "your message")),
    ...acted(trace, "guard out").map((finding) => told(finding, "the answer")),
    ...passages(trace),
  ];
  if (!lines.length) return null;
  return make("ul", { className: "checks", ariaLabel: "What was checked" }, ...lines.map((line) => make("li", {}, ...line)));
}

function told(finding, where) {
  const what = finding.action === "redact" ? `Taken out of ${where}: ` : `Noticed in ${where}: `;
  const kinds = [...new Set(finding.spans.map(({ kind }) => kind))];
  const said = finding.action === "redact" && kinds.length ? kinds.join(", ") : finding.reason;
  const how = [named(finding.rail), sure(finding)].filter(Boolean).join(" · ");
  return [`${what}${said}.`, make("small", { textContent: how })];
}

function passages(trace) {
  const { left_out: left = [], warned = [] } = trace.find(({ stage }) => stage === "retrieve")?.details ?? {};
  return [...left.map((each) => instructing("Left out", each)), ...warned.map((each) => instructing("Noticed", each))];
}

function instructing(done, { title, words: meant, score }) {
  const how = [named("instructions"), score === undefined ? "" : `${percent(score)} sure`].filter(Boolean).join(" · ");
  const quoted = meant ? ` (“${meant}”)` : "";
  return [`${done}: a passage of “${title}” that tells the assistant what to do${quoted}.`, make("small", { textContent: how })];
}

// Every rail of a stage with its score against its threshold.
export function rails({ rails: found } = {}) {
  const findings = Object.values(found ?? {});
  if (!findings.length) return null;
  const items = findings.map((finding) => {
    const { state, action, reason, fails } = finding;
    const passed = fails === "closed" ? "so the text was stopped" : "so the text passed";
    const watched = finding.facts?.shadow; // what a rail that only watches would have done
    const done = watched ? `only watching: would have ${DONE[watched]}` : DONE[action];
    const came = judged(finding) ? done : UNJUDGED[state] + (state === "skipped" ? "" : `, ${passed}`);
    const why = (watched || action !== "allow") && judged(finding) && reason ? ` — ${reason}` : "";
    const line = make("li", { className: action }, make("i", { textContent: `${named(finding.rail)}:` }), ` ${came}${why}`);
    if (judged(finding)) line.append(gauge(finding));
    return line;
  });
  return make("ul", { className: "rails", ariaLabel: "Checks" }, ...items);
}

function gauge(finding) {
  const bar = make("span", { className: "gauge", ariaHidden: "true" });
  bar.style.setProperty("--score", finding.score);
  bar.style.setProperty("--threshold", finding.threshold);
  const trend = finding.facts?.trend; // of the rail that reads the whole conversation
  return make("small", {}, bar, trend ? `${sure(finding)} · ${trend}` : sure(finding));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
