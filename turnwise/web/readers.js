// What the server says to whoever runs it, in words for whoever reads the page: they have no terminal to type it in.

import { me } from "./access.js";

const COMMANDS = /\b(?:TURNWISE|OPENAI)_[A-Z_]+|\bmax_(?:tokens|upload|body)\b|\bturnwise [a-z]+\b/;
const SAID = [
  [/If you trust their document, run: turnwise trust \S+/, () =>
    me.edit
      ? "If you trust their document, say so in its menu under Documents."
      : "Whoever looks after the library can say that their document is trusted."],
  [/Set TURNWISE_VISION=.*, or describe the image in words\./, () =>
    "Describe it in words; or whoever looks after this server can set up a model that can see."],
];

export function forReaders(text) {
  const told = SAID.reduce((words, [sought, instead]) => words.replace(sought, instead), text);
  const sentences = told.split(/(?<=[.!?])\s+/);
  const kept = sentences.filter((sentence) => !COMMANDS.test(sentence));
  if (kept.length < sentences.length) kept.push("Whoever looks after this server can change that.");
  return kept.join(" ");
}
