// Where the conversation stands, as a quiet line over the composer that unfolds: what was understood of it.

import { at, make, percent } from "./dom.js";

const PHASES = {
  exploring: "getting to know it",
  understanding: "asking how or why",
  applying: "putting it to use",
  debugging: "solving a problem",
  reviewing: "coming back to something",
};
const LEVELS = { confused: "find it unclear", knows_basics: "know the basics", advanced: "know it well" };
const strip = at("standing");

export function showStanding({ state, follow_up: followUp } = {}) {
  strip.hidden = !state?.turn;
  if (strip.hidden) return;
  const known = (state.knowledge ?? []).find(({ topic }) => topic === state.topic);
  const related = followUp?.is_follow_up ? `a follow-up, ${percent(followUp.confidence)} sure` : "a new question";
  const parts = [
    state.topic && make("b", { textContent: state.topic }),
    PHASES[state.phase],
    related,
    `turn ${state.turn}`,
    known && `you ${LEVELS[known.level]}`,
  ];
  strip.querySelector("summary").replaceChildren(...parts.filter(Boolean).flatMap((part, place) => (place ? [" · ", part] : [part])));
  strip.querySelector("dl").replaceChildren(...details(state, followUp).flat());
}

function details(state, followUp) {
  const quoted = (list) => list.map((each) => `“${each}”`).join(" ");
  const knowledge = (state.knowledge ?? []).map(({ topic, level, evidence }) =>
    [`${topic}: you ${LEVELS[level]}`, evidence && `(“${evidence}”)`].filter(Boolean).join(" "),
  );
  const mood = state.mood !== "neutral" && state.mood_evidence ? [`you seem ${state.mood} (“${state.mood_evidence}”)`] : [];
  return [
    ["Last message", followUp?.reason ? [followUp.reason] : []],
    ["Topics so far", state.topics?.length ? [state.topics.join(", ")] : []],
    ["Treated already", state.covered?.length ? [state.covered.join(", ")] : []],
    ["What you know", knowledge],
    ["Not answered yet", state.open_questions?.length ? [quoted(state.open_questions)] : []],
    ["Mood", mood],
    ["For the next answer", state.guidance ?? []],
  ]
    .filter(([, values]) => values.length)
    .map(([name, values]) => [make("dt", { textContent: name }), make("dd", { textContent: values.join("\n") })]);
}

strip.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !strip.open) return;
  strip.open = false;
  strip.querySelector("summary").focus();
  event.stopPropagation();
});
document.querySelector("main").addEventListener("click", (event) => strip.contains(event.target) || (strip.open = false));
