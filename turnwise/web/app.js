// The page: its parts are brought together here, and what is around the conversation is wired.

import "./drop.js";
import { describeLibrary } from "./about.js";
import { forgetKey, me, whoAmI } from "./access.js";
import { key } from "./api.js";
import { isBusy, send, stop } from "./chat.js";
import { showConversation } from "./conversation.js";
import { grown } from "./current.js";
import { at, menu } from "./dom.js";
import { shortcuts } from "./keys.js";
import { listConversations } from "./list.js";
import { openMemory } from "./memory.js";

const [composer, message, earlier] = ["composer", "message", "earlier"].map(at);
const wide = matchMedia("(min-width: 85rem)");
const mouse = matchMedia("(hover: hover)");

// --- the composer ------------------------------------------------------------------------------------------------

function grow() {
  message.style.height = "auto";
  message.style.height = `${message.scrollHeight}px`;
}

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!message.value.trim() || isBusy()) return;
  send(message.value.trim());
  message.value = "";
  message.dispatchEvent(new Event("input"));
});
message.addEventListener("input", grow);
message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  composer.requestSubmit();
});
at("stop").addEventListener("click", stop);

// --- the list of conversations -----------------------------------------------------------------------------------

function showList(yes) {
  const held = earlier.contains(document.activeElement);
  earlier.hidden = !yes;
  at("show-earlier").ariaExpanded = String(yes);
  if (!yes && held) at("show-earlier").focus();
}

function startNew() {
  if (location.hash) location.hash = "";
  else showConversation();
  if (!wide.matches) showList(false);
  message.focus();
}

at("show-earlier").addEventListener("click", () => {
  showList(earlier.hidden);
  if (!earlier.hidden) (mouse.matches ? at("search") : at("new-in-list")).focus(); // a field would bring up the keyboard
});
for (const id of ["new", "new-in-list"]) at(id).addEventListener("click", startNew);
document.querySelector("main").addEventListener("click", () => wide.matches || showList(false));
addEventListener("hashchange", () => wide.matches || showList(false));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || wide.matches || earlier.hidden || event.defaultPrevented) return;
  event.preventDefault(); // this key has closed something: it does not stop an answer as well
  showList(false);
});

// --- the rest ----------------------------------------------------------------------------------------------------

const THEMES = { "": "as this device", light: "light", dark: "dark" };

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("turnwise-theme", theme);
}

at("more").addEventListener("click", () => {
  const theme = localStorage.getItem("turnwise-theme") ?? "";
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(theme) + 1) % names.length];
  menu(at("more"), [
    ...(me.manage ? [["Dashboard", () => location.assign("/dashboard")]] : []),
    ["What it remembers of you", openMemory],
    ["Keyboard shortcuts", () => at("shortcuts").showModal()],
    [`Colours: ${THEMES[theme] ?? THEMES[""]} (change to ${THEMES[next]})`, () => paint(next)],
    ...(key() ? [["Forget my key", forgetKey]] : []),
  ]);
});
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // a click beside it
  dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
}
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  message.focus();
});

// What is said in passing stands above the composer, however high that is.
const height = ([{ target }]) => document.documentElement.style.setProperty("--foot", `${target.offsetHeight}px`);
new ResizeObserver(height).observe(at("foot"));

// What is said in passing has room below the end of an answer, for a reader who is there.
new MutationObserver(grown).observe(at("toasts"), { childList: true });

shortcuts({ startNew, showList });
showList(wide.matches);
whoAmI().then(describeLibrary);
listConversations();
await showConversation();
if (mouse.matches) message.focus({ preventScroll: true });
