// What is remembered of the reader, across conversations: nothing, unless they say so.

import { get, send } from "./api.js";
import { at, iconButton, make, toast } from "./dom.js";

const LEVELS = { confused: "unclear to you", knows_basics: "you know the basics", advanced: "you know it well" };
const dialog = at("memory");
let kept = { enabled: false, preferences: [], topics: [] };

export async function openMemory() {
  try {
    kept = await get("/api/memory");
    at("memory-said").textContent = "";
    show();
    dialog.showModal();
  } catch (error) {
    toast(error.status === 404 ? "This server keeps no memory of its readers." : error.message);
  }
}

function show() {
  const { enabled, preferences, topics } = kept;
  at("memory-on").checked = enabled;
  at("memory-kept").hidden = !enabled && !preferences.length && !topics.length;
  at("preferences").replaceChildren(...preferences.map((text) => line(text, "", () => put({ preferences: without(preferences, text) }))));
  at("topics").replaceChildren(
    ...topics.map((topic) => {
      const told = [LEVELS[topic.level] ?? topic.level, topic.evidence && `“${topic.evidence}”`].filter(Boolean).join(" · ");
      return line(topic.topic, told, () => put({ topics: without(topics, topic) }));
    }),
  );
  at("no-preferences").hidden = preferences.length > 0;
  at("no-topics").hidden = topics.length > 0;
}

function without(list, away) {
  return list.filter((each) => each !== away);
}

function line(text, told, remove) {
  const away = iconButton("close", `Forget “${text}”`, remove);
  return make("li", {}, make("span", { textContent: text }), told ? make("small", { textContent: told }) : null, away);
}

async function put(change) {
  const before = kept;
  kept = { ...kept, ...change };
  show();
  try {
    kept = (await send("PUT", "/api/memory", kept)) ?? kept;
  } catch (error) {
    kept = before;
    at("memory-said").textContent = [error.message, error.hint].filter(Boolean).join(" ");
  }
  show();
}

at("memory-on").addEventListener("change", ({ target }) => put({ enabled: target.checked }));
at("add-preference").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = event.target.preference.value.trim();
  event.target.reset();
  if (text && !kept.preferences.includes(text)) put({ preferences: [...kept.preferences, text] });
});
at("erase-memory").addEventListener("click", async () => {
  try {
    await send("DELETE", "/api/memory");
    kept = { enabled: false, preferences: [], topics: [] };
    at("memory-said").textContent = "All of it is erased.";
    show();
  } catch (error) {
    at("memory-said").textContent = error.message;
  }
});
