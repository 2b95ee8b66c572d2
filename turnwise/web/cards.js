// What the dashboard shows: each card says its message, draws it, and gives the same as a table.

import * as charts from "./charts.js";

const FEW = 8; // rows of a chart; the table has them all
const LINKS = 12;
const WEEKLY = 100; // days from which a series is shown by weeks

const METHODS = {
  literal: "Searched as written", rules: "Completed by rules", model: "Completed by the condenser",
  llm: "Rewritten by the language model", caller: "Edited by the reader",
};
const KINDS = { none: "Stands alone", pattern: "Follow-up, by its words", semantic: "Follow-up, by its meaning" };
const STAGES = {
  "whole turn": "Whole turn", "guard in": "Guard, message", understand: "Understand", condense: "Condense", plan: "Plan",
  retrieve: "Retrieve", compose: "Compose", generate: "Generate", "guard out": "Guard, answer", verify: "Verify", remember: "Remember",
};
const RAILS = { pii: "Personal data", injection: "Instructions to the assistant", exchange: "The exchange as a whole", leak: "Leaks of the prompt", secrets: "Secrets", links: "Links", topics: "Topics", limits: "Limits", shape: "Form of the request" };
const SPEAKERS = { extractive: "Sentences of the library", "no model": "Said without a model" };
const MOODS = { neutral: "Calm", confused: "Confused", frustrated: "Frustrated" };
const LEVELS = ["Confused", "Knows the basics", "Advanced"];
const SERIES = { answered: "s1", unanswered: "s2", stopped: "s3" };

const tidy = (text) => (text ? text[0].toUpperCase() + text.slice(1).replaceAll("_", " ") : text);
const plural = (count, one, several = `${one}s`) => `${number(count)} ${count === 1 ? one : several}`;
const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

export const number = (value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 }));
export const percent = (share, digits = 0) => (share === null ? "–" : `${(share * 100).toFixed(digits)}%`);
export const duration = (ms) => (ms === null ? "–" : ms < 1000 ? `${number(ms)} ms` : `${number(ms / 1000)} s`);
export const compact = (value) => value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
export const day = (text, long = false) =>
  new Date(`${text}T12:00:00`).toLocaleDateString("en", long ? { weekday: "long", day: "numeric", month: "long" } : { day: "numeric", month: "short" });
export const moment = (seconds) => new Date(seconds * 1000).toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
const share = (part, whole) => (whole ? part / whole : null);

// Days, or weeks where there are many days.
function series(days, keys) {
  if (days.length <= WEEKLY) return days.map((row) => ({ ...row, label: day(row.day), long: day(row.day, true) }));
  const weeks = [];
  for (let end = days.length; end > 0; end -= 7) {
    const some = days.slice(Math.max(0, end - 7), end);
    const added = Object.fromEntries(keys.map((key) => [key, sum(some, key)]));
    const told = some.filter((row) => row.repeated !== null);
    weeks.unshift({ ...added, repeated: told.length ? sum(told, "repeated") / told.length : null, label: day(some[0].day), long: `Week from ${day(some[0].day)}` });
  }
  return weeks;
}

export function conversation(id, turn) {
  return `/#/${encodeURIComponent(id)}/${turn}`;
}

export const SECTIONS = [
  {
    title: "How people ask",
    cards: [
      {
        table: "days", title: "Turns per day", wide: true,
        empty: "",
        message: ({ days, totals }) => {
          const busiest = days.reduce((one, other) => (other.turns > one.turns ? other : one));
          return `${plural(totals.turns, "turn")} in ${plural(days.length, "day")}; the most, ${number(busiest.turns)}, on ${day(busiest.day, true)}.`;
        },
        legend: [["s1", "answered"], ["s2", "library had no answer"], ["s3", "failed, blocked or stopped"]],
        draw: ({ days }, width) => {
          const rows = series(days, ["turns", "answered", "unanswered", "failed", "blocked", "interrupted", "conversations"]).map((row) => {
            const stopped = row.failed + row.blocked + row.interrupted, answered = row.answered - row.unanswered;
            const ended = { "without an answer": row.unanswered, failed: row.failed, blocked: row.blocked, stopped: row.interrupted };
            const more = Object.entries(ended).filter(([, turns]) => turns).map(([how, turns]) => `${turns} ${how}`);
            return { label: row.label, parts: [answered, row.unanswered, stopped], tip: [`${row.long}: ${plural(row.turns, "turn")}`, ...more].join(", ") };
          });
          return charts.columns({ rows, series: Object.values(SERIES).map((style) => ({ style })), format: number }, width);
        },
        columns: { day: "Day", turns: "Turns", conversations: "Conversations", follow_ups: "Follow-ups", unanswered: "No answer", failed: "Failed", blocked: "Blocked", interrupted: "Stopped" },
      },
      {
        table: "follow_up", title: "Follow-ups", name: "follow_up",
        empty: "As soon as somebody asks again in the same conversation, it shows how many questions lean on what was said.",
        message: ({ totals }) => `${percent(totals.follow_up_share)} of the messages lean on what was said before; ${plural(totals.context_switches, "message")} changed the topic.`,
        draw: ({ follow_up: rows, totals }, width) => {
          const parts = Object.keys(KINDS).map((kind, at) => {
            const turns = rows.find((row) => row.kind === kind)?.turns ?? 0;
            return { value: turns, style: ["s0", "s1", "s3"][at], tip: `${KINDS[kind]}: ${plural(turns, "turn")}` };
          });
          return charts.donut({ parts, big: percent(totals.follow_up_share), small: "follow-ups" }, width);
        },
        legend: [["s1", "by their words"], ["s3", "by their meaning"], ["s0", "stands alone"]],
        columns: { kind: "Kind", turns: "Turns" }, words: { kind: KINDS },
      },
      {
        table: "condense", title: "What was searched for",
        empty: "Each question is made to stand alone before it is searched for. How, is counted here.",
        message: ({ condense, totals }) => {
          const asWritten = condense.find((row) => row.method === "literal")?.turns ?? 0;
          const edits = totals.edited ? `Readers rewrote the query ${totals.edited === 1 ? "once" : `${number(totals.edited)} times`}.` : "No reader had to rewrite a query.";
          return `${percent(share(sum(condense, "turns") - asWritten, sum(condense, "turns")))} of the questions were completed from the conversation. ${edits}`;
        },
        draw: ({ condense }, width) => charts.bars({ rows: condense.map((row) => ({ label: METHODS[row.method] ?? tidy(row.method), value: row.turns, tip: `${METHODS[row.method] ?? row.method}: ${plural(row.turns, "turn")}` })), format: number }, width),
        columns: { method: "Decision", turns: "Turns" }, words: { method: METHODS },
      },
      {
        table: "phases", title: "What people are doing",
        empty: "Exploring, understanding, applying, debugging, reviewing: what people do with a topic shows here.",
        message: ({ phases }) => `Mostly ${phases[0].phase}: ${percent(share(phases[0].turns, sum(phases, "turns")))} of the messages.`,
        draw: ({ phases }, width) => charts.bars({ rows: phases.map((row) => ({ label: tidy(row.phase), value: row.turns, tip: `${tidy(row.phase)}: ${plural(row.turns, "turn")}` })), format: number }, width),
        columns: { phase: "Phase", turns: "Turns" },
      },
      {
        table: "flow", title: "From topic to topic", wide: true,
        empty: "When conversations move from one topic to another, the ways they take are drawn here.",
        message: ({ flow, totals }) => `The way most taken leads from ${flow[0].from} to ${flow[0].to} (${plural(flow[0].turns, "time")}); ${plural(totals.context_switches, "switch", "switches")} of topic in all.`,
        draw: ({ flow }, width) => charts.flow({ links: flow.slice(0, width < 460 ? LINKS - 4 : LINKS), tip: (link) => `${link.from} → ${link.to}: ${plural(link.turns, "time")}` }, width),
        columns: { from: "From", to: "To", turns: "Times" },
      },
    ],
  },
  {
    title: "What the library gives",
    cards: [
      {
        table: "unanswered", title: "Questions without an answer", half: true,
        empty: "No question went unanswered. When the library has nothing to say, the question is kept here, so that you know what to add.",
        message: ({ totals, unanswered }) => `${plural(totals.unanswered, "question")} found no answer (${percent(share(totals.unanswered, totals.searched))} of the searches), ${unanswered.length === 1 ? "on one matter" : `on ${number(unanswered.length)} matters`}. This is what to add.`,
        list: ({ unanswered }) => unanswered.map((row) => ({
          count: row.count, text: row.question, href: conversation(row.conversation_id, row.number),
          about: [row.count > 1 ? `last asked ${moment(row.last)}` : `asked ${moment(row.last)}`, row.also.length ? `also “${row.also.join("”, “")}”` : ""].filter(Boolean).join("; "),
        })),
        columns: { question: "Question", count: "Times", first: "First", last: "Last" }, times: ["first", "last"],
      },
      {
        table: "cited", title: "Most cited documents", half: true,
        empty: "No answer has cited a document yet.",
        message: ({ cited }) => `“${cited[0].title}” is cited most, in ${plural(cited[0].turns, "answer")}; ${plural(cited.length, "document was", "documents were")} cited at all.`,
        draw: ({ cited }, width) => charts.bars({ rows: cited.slice(0, FEW + 2).map((row) => ({ label: row.title || row.source, value: row.turns, tip: `${row.title}: in ${plural(row.turns, "answer")} (${row.source})` })), format: number }, width),
        columns: { title: "Document", collection: "Collection", turns: "Answers", last: "Last", source: "Source" }, times: ["last"],
      },
      {
        table: "uncited", title: "Never cited", wide: true,
        empty: "Every document of the library was cited. ",
        message: ({ totals }) => `${plural(totals.uncited, "document")} of ${number(totals.documents)} ${totals.uncited === 1 ? "was" : "were"} not cited in this time: not asked for, or not found.`,
        list: ({ uncited }) => uncited.map((row) => ({ text: row.title || row.source, about: [row.collection, `added ${moment(row.added_at)}`].filter(Boolean).join("; ") })),
        columns: { title: "Document", collection: "Collection", added_at: "Added", source: "Source" }, times: ["added_at"],
      },
    ],
  },
  {
    title: "How people get on",
    cards: [
      {
        table: "learning", title: "Learning, topic by topic", wide: true,
        empty: "When people say that they are lost, or show that they know something, you see here where they stood at first and at last.",
        message: ({ totals }) => (totals.confused
          ? `${number(totals.learned)} of ${plural(totals.confused, "time")} that somebody was confused, they knew the basics later${totals.turns_to_learn ? `, typically after ${plural(totals.turns_to_learn, "turn")}` : ""}.`
          : "Nobody was confused about anything."),
        draw: ({ learning }, width) => charts.tracks({
          scale: width < 460 ? ["Confused", "Basics", "Advanced"] : LEVELS,
          rows: learning.slice(0, FEW).map((row) => ({
            label: row.topic, first: row.first, last: row.last,
            note: row.confused ? `${row.learned} of ${row.confused} got there` : plural(row.conversations, "conversation"),
            tip: `${row.topic}: ${plural(row.conversations, "conversation")}, ${row.confused} confused, ${row.learned} of them knew the basics later`,
          })),
        }, width),
        legend: [["hollow", "at first"], ["round", "at last"]],
        columns: { topic: "Topic", conversations: "Conversations", confused: "Confused", learned: "Knew the basics later", turns: "Turns it took" },
      },
      {
        table: "days", name: "repetition", title: "Answers that repeat themselves", half: true,
        has: ({ days }) => days.some((row) => row.repeated !== null),
        empty: "From the second answer of a conversation on, it is measured how much of it was said before.",
        message: ({ totals }) => `${percent(totals.repeated, 1)} of what answers say was said before in the conversation; ${plural(totals.repetitions, "answer")} said more than half of it again.`,
        draw: ({ days }, width) => charts.trend({
          rows: series(days, ["turns"]).map((row) => ({ label: row.label, value: row.repeated, tip: `${row.long}: ${row.repeated === null ? "nothing to compare" : `${percent(row.repeated, 1)} said before`}` })),
          format: percent,
        }, width),
        legend: [["line", "mean of a week"], ["dot", "one day"]],
        columns: { day: "Day", repeated: "Said before" }, shares: ["repeated"],
      },
      {
        table: "moods", title: "How it feels", half: true,
        empty: "Whether people sound confused or frustrated shows here.",
        message: ({ moods }) => {
          const calm = moods.find((row) => row.mood === "neutral")?.turns ?? 0, all = sum(moods, "turns");
          return calm === all ? "Nobody sounded confused or frustrated." : `${percent(share(all - calm, all))} of the messages sound confused or frustrated.`;
        },
        draw: ({ moods }, width) => charts.bars({ rows: moods.map((row) => ({ label: MOODS[row.mood] ?? tidy(row.mood), value: row.turns, note: `${number(row.turns)} · ${percent(share(row.turns, sum(moods, "turns")))}`, tip: `${MOODS[row.mood] ?? row.mood}: ${plural(row.turns, "message")}` })) }, width),
        columns: { mood: "Mood", turns: "Messages" }, words: { mood: MOODS },
      },
      {
        table: "feedback", title: "What readers say", wide: true, split: true,
        has: ({ totals }) => totals.up + totals.down > 0,
        empty: "Nobody has rated an answer yet. Under each answer there are two thumbs; what they say comes here.",
        message: ({ totals }) => `${percent(share(totals.up, totals.up + totals.down))} of ${plural(totals.up + totals.down, "rating")} were good: ${number(totals.up)} up, ${number(totals.down)} down.`,
        draw: ({ days }, width) => charts.mirror({ rows: series(days, ["up", "down"]).map((row) => ({ label: row.label, up: row.up, down: row.down, tip: `${row.long}: ${row.up} up, ${row.down} down` })) }, width),
        legend: [["s1", "good"], ["s2", "not good"]],
        list: ({ feedback }) => feedback.filter((row) => row.comment).map((row) => ({
          sign: row.rating, text: row.comment, href: conversation(row.conversation_id, row.number), about: `${row.question ? `on “${row.question}”, ` : ""}${moment(row.at)}`,
        })),
        columns: { rating: "Rating", comment: "Comment", question: "Question", at: "When" }, times: ["at"],
      },
    ],
  },
  {
    title: "How it runs",
    cards: [
      {
        table: "latency", title: "Time by stage", wide: true,
        empty: "How long each stage takes shows after the first answer.",
        message: ({ latency }) => {
          const whole = latency.find((row) => row.stage === "whole turn");
          const slowest = latency.filter((row) => row !== whole).reduce((one, other) => (other.p50 > one.p50 ? other : one));
          return `Half of the answers are there within ${duration(whole.p50)}, 95 of 100 within ${duration(whole.p95)}. The longest stage is “${STAGES[slowest.stage] ?? slowest.stage}”.`;
        },
        draw: ({ latency }, width) => {
          const order = Object.keys(STAGES), place = (row) => (order.indexOf(row.stage) + 1 || order.length + 1);
          const rows = [...latency].sort((one, other) => place(one) - place(other));
          return charts.ranges({
            rows: rows.map((row) => ({ label: STAGES[row.stage] ?? tidy(row.stage), p50: row.p50, p95: row.p95, whole: row.stage === "whole turn", note: `${duration(row.p50)} · ${duration(row.p95)}`, tip: `${STAGES[row.stage] ?? row.stage}: half within ${duration(row.p50)}, 95% within ${duration(row.p95)}` })),
            format: duration,
          }, width);
        },
        legend: [["s1", "half within (p50)"], ["faint", "95 of 100 within (p95)"]],
        columns: { stage: "Stage", turns: "Turns", p50: "p50", p95: "p95" }, durations: ["p50", "p95"], words: { stage: STAGES },
      },
      {
        table: "guard", title: "What the guard did", half: true,
        empty: "No rail had to act. What the guard blocks, redacts or warns of is counted here by rail.",
        message: ({ totals, guard }) => {
          const acted = (row) => row.blocked + row.redacted + row.warned;
          const most = guard.reduce((one, other) => (acted(other) > acted(one) ? other : one));
          return `${plural(totals.blocked, "turn was", "turns were")} blocked. The rail that acted most: ${(RAILS[most.rail] ?? most.rail).toLowerCase()}.`;
        },
        draw: ({ guard }, width) => charts.bars({
          rows: guard.map((row) => ({ label: RAILS[row.rail] ?? tidy(row.rail), parts: [row.blocked, row.redacted, row.warned], tip: `${RAILS[row.rail] ?? tidy(row.rail)}: ${row.blocked} blocked, ${row.redacted} redacted, ${row.warned} warned` })),
          series: [{ style: "s2" }, { style: "s3" }, { style: "s5" }], format: number,
        }, width),
        legend: [["s2", "blocked"], ["s3", "redacted"], ["s5", "warned"]],
        columns: { rail: "Rail", blocked: "Blocked", redacted: "Redacted", warned: "Warned" }, words: { rail: RAILS },
      },
      {
        table: "models", title: "Tokens by model", half: true,
        empty: "Who answered, and with how many tokens, is counted here.",
        message: ({ totals }) => (totals.prompt_tokens + totals.answer_tokens
          ? `${compact(totals.prompt_tokens)} tokens were sent to models and ${compact(totals.answer_tokens)} came back (estimated).`
          : "No language model was asked: nothing was sent anywhere."),
        draw: ({ models }, width) => {
          const spent = models.some((row) => row.prompt_tokens + row.answer_tokens);
          const parts = (row) => (spent ? [row.prompt_tokens, row.answer_tokens] : [row.turns]);
          return charts.bars({
            rows: models.slice(0, FEW).map((row) => ({ label: SPEAKERS[row.model] ?? row.model, parts: parts(row), note: spent && row.prompt_tokens + row.answer_tokens ? compact(row.prompt_tokens + row.answer_tokens) : plural(row.turns, "turn"), tip: `${SPEAKERS[row.model] ?? row.model}: ${plural(row.turns, "turn")}, ${number(row.prompt_tokens)} tokens sent, ${number(row.answer_tokens)} came back` })),
            series: [{ style: "s3" }, { style: "s1" }], format: compact,
          }, width);
        },
        legend: ({ totals }) => (totals.prompt_tokens + totals.answer_tokens ? [["s3", "sent"], ["s1", "came back"]] : []),
        columns: { model: "Model", turns: "Turns", prompt_tokens: "Tokens sent", answer_tokens: "Tokens back" }, words: { model: SPEAKERS },
      },
      {
        table: "errors", title: "Turns that came to nothing", wide: true, optional: true,
        message: ({ errors }) => `${plural(sum(errors, "turns"), "turn")} ended in an error, most of them ${errors[0].code}.`,
        draw: ({ errors }, width) => charts.bars({ rows: errors.slice(0, FEW).map((row) => ({ label: row.code, value: row.turns, tip: `${row.code}: ${plural(row.turns, "turn")}` })), series: [{ style: "s2" }], format: number }, width),
        columns: { code: "Error", turns: "Turns" },
      },
    ],
  },
];

// The few figures at the top: what is counted, the number, what it is of, and how it changed since the time before.
export function figures(found, before = null) {
  const { totals } = found, whole = timing(found), rated = totals.up + totals.down;
  const answered = ({ totals: of }) => share(of.searched - of.unanswered, of.searched);
  const liked = ({ totals: of }) => share(of.up, of.up + of.down);
  const grown = before?.totals.turns ? totals.turns / before.totals.turns - 1 : null;
  const points = (of) => (before && of(before) !== null && of(found) !== null ? of(found) - of(before) : null);
  const slower = before && whole && timing(before) ? whole.p50 / timing(before).p50 - 1 : null;
  return [
    { name: "Turns", value: number(totals.turns), about: `${plural(totals.conversations, "conversation")}, ${plural(totals.users, "reader")}`, change: change(grown, "%") },
    { name: "Answered", value: percent(answered(found)), about: `${plural(totals.unanswered, "question")} found nothing`, change: change(points(answered), " pts") },
    { name: "Follow-ups", value: percent(totals.follow_up_share), about: "lean on what was said", change: change(points(({ totals: of }) => of.follow_up_share), " pts") },
    { name: "Borne out", value: percent(totals.borne_out_share), about: `of ${plural(totals.claims, "sentence")} checked`, change: change(points(({ totals: of }) => of.borne_out_share), " pts") },
    { name: "Got unstuck", value: percent(totals.learned_share), about: totals.confused ? `of ${plural(totals.confused, "time")} confused` : "nobody was confused", change: change(points(({ totals: of }) => of.learned_share), " pts") },
    { name: "Typical time", value: duration(whole ? whole.p50 : null), about: whole ? `95% within ${duration(whole.p95)}` : "no answer yet", change: change(slower, "%") },
    { name: "Liked", value: percent(share(totals.up, rated)), about: rated ? `of ${plural(rated, "rating")}` : "no rating yet", change: change(points(liked), " pts") },
  ];
}

const timing = ({ latency }) => latency.find((row) => row.stage === "whole turn");

function change(by, unit) {
  if (by === null || !Number.isFinite(by)) return "";
  const rounded = Math.round(by * 100);
  return rounded ? `${rounded > 0 ? "+" : "−"}${number(Math.abs(rounded))}${unit}` : "";
}
