// The question being written, kept for each conversation in this tab: a reload or a look at another conversation loses
// none of it, and takes none of it along.

import { addressed } from "./current.js";
import { at } from "./dom.js";

const message = at("message");

function place(id = addressed().id) {
  return `turnwise-draft/${id ?? ""}`;
}

export function keepDraft(text = message.value, id = addressed().id) {
  try {
    if (text.trim()) sessionStorage.setItem(place(id), text);
    else sessionStorage.removeItem(place(id));
  } catch { // there is no room for it: then it is not kept
  }
}

export function showDraft() {
  message.value = sessionStorage.getItem(place()) ?? "";
  message.dispatchEvent(new Event("input"));
}

message.addEventListener("input", () => keepDraft());
// The conversation has its address now, and what was written meanwhile belongs to it.
addEventListener("addressed", () => {
  sessionStorage.removeItem(place(null));
  keepDraft();
});
