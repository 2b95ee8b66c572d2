// Small things that every part of the page makes itself of: elements, icons, words, and what is said in passing.

export const at = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function clipped(text, most = 200) {
  return text.length > most ? `${text.slice(0, most).trimEnd()}…` : text;
}

export function button(text, onclick, className = "quiet") {
  return make("button", { type: "button", className, textContent: text, onclick });
}

// A button that shows an icon and says its name to those who do not see it, or who hover over it.
export function iconButton(icon, label, onclick, className = "quiet small") {
  return make("button", { type: "button", className, ariaLabel: label, title: label, onclick }, draw(icon));
}

const ICONS = {
  branch: "M6 4v12M6 10c5 0 8-1 8-5M14 5V4M6 16v1",
  close: "m5 5 10 10M15 5 5 15",
  copy: "M7.5 7.5h8.5v8.5H7.5zM12.5 4.5h-8v8",
  down: "M6.5 9V3.5h7.2l2.3 6v2h-5l.8 4.5-1.6 1L6.5 11M6.5 3.5H3.5V11h3",
  edit: "m4 16 .7-3.2L13 4.5l2.5 2.5-8.3 8.3zM11 6.5 13.5 9",
  file: "M5 3h6.5L15 6.5V17H5zM11.5 3v3.5H15",
  link: "M8.5 11.5a3 3 0 0 0 4.3 0l2.6-2.6a3 3 0 0 0-4.3-4.3L10 5.7M11.5 8.5a3 3 0 0 0-4.3 0l-2.6 2.6a3 3 0 0 0 4.3 4.3L10 14.3",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.8 10.5h7.4L14.5 6",
  up: "M6.5 11v5.5h7.2l2.3-6v-2h-5L11.8 4l-1.6-1L6.5 9M6.5 16.5H3.5V9h3",
};

export function draw(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  path.classList.toggle("dots", name === "more");
  svg.append(path);
  return svg;
}

// Says something to those who hear the page.
export function announce(text) {
  at("said").textContent = text;
}

// Says something in passing, at the foot of the page; with `label`, it can be taken back until the words go,
// which wait for a pointer or a focus that is on them.
// Gives a promise that is fulfilled when they have gone: with true where the action was taken.
export function toast(text, label = "", seconds = 5) {
  return new Promise((resolve) => {
    const line = make("p", { className: "toast" }, make("span", { textContent: text }));
    const end = (acted) => {
      clearTimeout(timer);
      line.remove();
      resolve(acted);
    };
    let timer;
    const wait = () => (timer = setTimeout(() => end(false), seconds * 1000));
    if (label) {
      line.append(button(label, () => end(true), "link"));
      for (const held of ["mouseenter", "focusin"]) line.addEventListener(held, () => clearTimeout(timer));
      for (const left of ["mouseleave", "focusout"]) line.addEventListener(left, () => line.isConnected && (clearTimeout(timer), wait()));
    }
    wait();
    at("toasts").append(line);
  });
}

// A menu at a button: items are [label, act, className]. The browser closes it on Escape or a click elsewhere.
export function menu(opener, items) {
  document.querySelector("#menu")?.remove();
  const list = make("div", { id: "menu", popover: "auto" });
  list.setAttribute("role", "menu");
  for (const [label, act, className = ""] of items) {
    const item = button(label, () => { list.hidePopover(); act(); }, className);
    item.setAttribute("role", "menuitem");
    list.append(item);
  }
  list.addEventListener("keydown", (event) => step(event, list));
  list.addEventListener("toggle", (event) => {
    opener.ariaExpanded = String(event.newState === "open");
    if (event.newState === "open") return;
    if (document.activeElement === document.body || list.contains(document.activeElement)) opener.focus();
    list.remove();
  });
  document.body.append(list);
  list.showPopover();
  const { left, bottom, top } = opener.getBoundingClientRect();
  const below = bottom + list.offsetHeight < innerHeight ? bottom + 4 : top - list.offsetHeight - 4;
  list.style.left = `${Math.max(8, Math.min(left, innerWidth - list.offsetWidth - 8))}px`;
  list.style.top = `${Math.max(8, below)}px`;
  list.firstChild.focus();
}

function step(event, list) {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!move) return;
  event.preventDefault();
  const items = [...list.children];
  items.at((items.indexOf(document.activeElement) + move) % items.length).focus();
}

// A question in a dialog; fulfilled with what its form holds, or null where it was closed.
export function ask(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    const closed = () => resolve(dialog.returnValue === "yes" ? new FormData(dialog.querySelector("form")) : null);
    dialog.addEventListener("close", closed, { once: true });
    dialog.showModal();
  });
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // only pages of a safe origin have a clipboard
    const box = make("textarea", { value: text, className: "unseen" });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

// --- words -------------------------------------------------------------------------------------------------------

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

export function milliseconds(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 0.1) return "< 0.1 ms";
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export function ago(seconds) {
  const passed = seconds - Date.now() / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, length]) => -passed >= length) ?? ["second", 0];
  return size ? new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.ceil(passed / size), unit) : "just now";
}

// The day of a time, as a heading: Today, Yesterday, This week, then the month.
export function day(seconds) {
  const then = new Date(seconds * 1000);
  const midnight = new Date().setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight - then) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 7) return "This week";
  return then.toLocaleDateString("en", { month: "long", year: "numeric" });
}

export function size(bytes) {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// "Vaswani et al. 2017"
export function cited({ authors = [], year } = {}) {
  const families = authors.map((author) => author.split(",")[0]);
  const by = families.length > 2 ? `${families[0]} et al.` : families.join(" and ");
  return [by, year].filter(Boolean).join(" ");
}
