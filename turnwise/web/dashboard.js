// The dashboard: what to count is chosen here, asked for, and laid out as cards.

import * as api from "./api.js";
import { SECTIONS, day, duration, figures, moment, number, percent } from "./cards.js";
import { at, count, make } from "./dom.js";

const report = at("report"), filters = at("filters"), tip = at("tip");
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const SHOWN = 6; // entries of a list before "Show all"
const SHEET = { wide: 680, half: 317 }; // pixels of a chart on paper
const plots = new ResizeObserver((changes) => changes.forEach(({ target }) => redraw.get(target)?.()));
const redraw = new WeakMap();
let latest = 0;

// --- what is asked for: kept in the address, so that a view can be kept and shared ---------------------------------

function wanted() {
  const chosen = new FormData(filters), query = new URLSearchParams({ zone: ZONE });
  const days = chosen.get("days");
  if (days === "custom") {
    for (const end of ["since", "until"]) if (chosen.get(end)) query.set(end, chosen.get(end));
  } else if (days !== "all") query.set("days", days ?? "30");
  if (chosen.get("collection")) query.set("collection", chosen.get("collection").slice(1));
  return query;
}

function remember() {
  const query = wanted(), days = new FormData(filters).get("days");
  query.delete("zone");
  if (days === "all") query.set("days", "all");
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

function restore() {
  const query = new URLSearchParams(location.search);
  const days = query.get("days") ?? (query.has("since") || query.has("until") ? "custom" : "30");
  const known = [...filters.elements.days].some((each) => each.value === days);
  filters.elements.days.value = known ? days : "30";
  for (const end of ["since", "until"]) filters.elements[end].value = query.get(end) ?? "";
  at("custom").hidden = filters.elements.days.value !== "custom";
  if (query.has("collection")) offer([query.get("collection")], query.get("collection"));
}

function offer(names, chosen) {
  const options = names.map((name) => new Option(name || "(in none)", `=${name}`, false, name === chosen));
  filters.elements.collection.replaceChildren(new Option("All", ""), ...options);
  at("collections").hidden = names.length < 2 && chosen === null;
}

// --- loading ------------------------------------------------------------------------------------------------------

async function load() {
  const turn = (latest += 1);
  report.setAttribute("aria-busy", "true");
  at("notice").hidden = at("unlock").hidden = true;
  try {
    const found = await api.get(`/api/analytics?${wanted()}`);
    if (turn !== latest) return;
    show(found);
    compare(found, turn);
  } catch (problem) {
    if (turn === latest) refuse(problem);
  } finally {
    if (turn === latest) report.setAttribute("aria-busy", "false");
  }
}

function refuse(problem) {
  const locked = problem.code === "NotAllowed";
  report.replaceChildren();
  at("span").textContent = "";
  at("unlock").hidden = !locked;
  at("notice").hidden = locked && !api.key();
  at("notice").replaceChildren(make("strong", { textContent: problem.message }), ` ${problem.hint ?? ""}`);
}

function show(found) {
  offer(found.collections, found.collection);
  at("span").textContent = spanned(found);
  plots.disconnect();
  if (!found.totals.turns) {
    report.replaceChildren(nothing(found));
    return;
  }
  report.replaceChildren(make("dl", { id: "figures" }, ...tiles(found)), ...SECTIONS.map((section) => sectionOf(section, found)));
}

function tiles(found, before) {
  return figures(found, before).map(({ name, value, about, change }) => make("div", {},
    make("dt", { textContent: name }),
    make("dd", {}, value, change ? make("small", { textContent: change, title: "against the time before" }) : ""),
    make("dd", { className: "about", textContent: about })));
}

// The same figures of as long a time before, once the page stands.
async function compare(found, turn) {
  if (!found.since || !found.until || !found.totals.turns) return;
  const query = wanted();
  query.delete("days");
  query.set("since", 2 * found.since - found.until);
  query.set("until", found.since);
  const before = await api.get(`/api/analytics?${query}`).catch(() => null);
  if (turn === latest && before?.totals.turns) at("figures").replaceChildren(...tiles(found, before));
}

function spanned({ days, totals, collection }) {
  if (!totals.turns) return "";
  const [first, last] = [days[0].day, days.at(-1).day];
  const time = first === last ? day(first, true) : `${day(first)} to ${day(last)}`;
  return `${time}: ${count(totals.turns, "turn")}${collection === null ? "" : `, citing or searching “${collection || "no collection"}”`}`;
}

function nothing(found) {
  const filtered = wanted();
  filtered.delete("zone");
  const narrowed = filtered.size > 0;
  const words = found.totals.documents
    ? "Ask your documents something, and this page fills by itself: how people ask, which documents answer, what the library lacks, how long it takes."
    : "Add documents first, on the page with the conversations; then ask them something.";
  const all = make("button", { type: "button", className: "plain", textContent: "Look at all time" });
  all.onclick = () => {
    filters.elements.days.value = "all";
    filters.elements.collection.value = "";
    changed();
  };
  return make("section", { className: "nothing" },
    make("h2", { textContent: narrowed ? "Nothing was asked in this time" : "Nothing was asked yet" }),
    make("p", { textContent: words }),
    make("p", { className: "actions" }, make("a", { className: "strong", href: "/", textContent: "Ask a question" }), narrowed ? all : ""));
}

// --- cards --------------------------------------------------------------------------------------------------------

function sectionOf({ title, cards }, found) {
  const heading = make("h2", { textContent: title });
  return make("section", {}, heading, make("div", { className: "cards" }, ...cards.filter((card) => !card.optional || found[card.table].length).map((card) => cardOf(card, found))));
}

function cardOf(card, found) {
  const rows = found[card.table], id = card.name ?? card.table;
  const figure = make("article", { className: ["card", card.wide ? "wide" : "", card.half ? "half" : ""].join(" ").trim(), id: `card-${id}` });
  const title = make("h3", { textContent: card.title, id: `title-${id}` });
  figure.setAttribute("aria-labelledby", title.id);
  const has = card.has ? card.has(found) : rows.length > 0;
  if (!has) {
    figure.append(make("header", {}, title), make("p", { className: "empty", textContent: card.empty }));
    return figure;
  }
  const message = card.message(found);
  const marks = typeof card.legend === "function" ? card.legend(found) : card.legend;
  const legend = marks?.length ? make("ul", { className: "legend" }, ...marks.map(([style, name]) => make("li", {}, make("i", { className: `key ${style}` }), name))) : "";
  const drawn = card.draw ? make("div", { className: "drawn" }, plotOf(card, found, message), legend) : "";
  const listed = card.list ? listOf(card.list(found)) : [];
  const body = make("div", { className: card.split && listed.length ? "body split" : "body" }, drawn, listed.length ? make("div", { className: "listed" }, ...listed) : "");
  const table = make("div", { className: "table", hidden: true, tabIndex: 0 }, tableOf(card, rows));
  table.setAttribute("role", "region");
  table.setAttribute("aria-label", `${card.title}, as a table`);
  figure.append(make("header", {}, title, actions(card, body, table)), make("p", { className: "message", textContent: message }), body, table);
  return figure;
}

function plotOf(card, found, message) {
  const plot = make("div", { className: "plot" });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${card.title}. ${message}`);
  let drawn = 0;
  redraw.set(plot, (wanted) => {
    const width = wanted ?? Math.floor(plot.clientWidth);
    if (width > 40 && width !== drawn) plot.replaceChildren(card.draw(found, (drawn = width)));
  });
  plots.observe(plot);
  return plot;
}

function listOf(entries) {
  if (!entries.length) return [];
  const list = make("ol", { className: "list" }, ...entries.map((entry, place) => {
    const sign = entry.sign ? make("b", { className: `sign ${entry.sign}`, textContent: entry.sign === "up" ? "Good" : "Not good" }) : "";
    const count = entry.count ? make("b", { className: "count", textContent: `${number(entry.count)}×` }) : "";
    const text = entry.href ? make("a", { href: entry.href, textContent: entry.text }) : make("span", { textContent: entry.text });
    return make("li", { hidden: place >= SHOWN }, count || sign, make("div", {}, text, make("small", { textContent: entry.about })));
  }));
  const more = make("button", { type: "button", className: "quiet more", textContent: `Show all ${number(entries.length)}` });
  more.onclick = () => {
    const next = list.children[SHOWN];
    for (const entry of list.children) entry.hidden = false;
    more.remove();
    (next.querySelector("a") ?? list).focus?.();
  };
  return entries.length > SHOWN ? [list, more] : [list];
}

function actions(card, body, table) {
  const asTable = make("button", { type: "button", className: "quiet small", textContent: "Table" });
  asTable.setAttribute("aria-pressed", "false");
  asTable.setAttribute("aria-label", `${card.title} as a table`);
  asTable.onclick = () => {
    table.hidden = !table.hidden;
    body.hidden = !table.hidden;
    asTable.setAttribute("aria-pressed", String(!table.hidden));
  };
  const csv = make("button", { type: "button", className: "quiet small", textContent: "CSV" });
  csv.setAttribute("aria-label", `${card.title} as a CSV file`);
  csv.onclick = () => save(card.table);
  return make("div", { className: "actions" }, asTable, csv);
}

async function save(table) {
  try {
    const response = await api.request(`/api/analytics/${table}.csv?${wanted()}`);
    const address = URL.createObjectURL(await response.blob());
    make("a", { href: address, download: `turnwise-${table}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (problem) {
    refuse(problem);
  }
}

function tableOf({ columns, words = {}, times = [], shares = [], durations = [] }, rows) {
  const cell = (name, value) => {
    if (value === null || value === undefined) return "–";
    if (words[name]) return words[name][value] ?? value;
    if (times.includes(name)) return moment(value);
    if (shares.includes(name)) return percent(value, 1);
    if (durations.includes(name)) return duration(value);
    return typeof value === "number" ? number(value) : value;
  };
  const numeric = (name) => rows.length > 0 && !times.includes(name) && rows.every((row) => row[name] === null || typeof row[name] === "number");
  const kind = (name) => (numeric(name) ? "number" : "");
  const head = Object.entries(columns).map(([name, title]) => make("th", { scope: "col", className: kind(name), textContent: title }));
  const lines = rows.map((row) => make("tr", {}, ...Object.keys(columns).map((name) => make("td", { className: kind(name), textContent: cell(name, row[name]) }))));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines));
}

// --- what stands beside the pointer ---------------------------------------------------------------------------------

report.addEventListener("pointermove", (event) => {
  const mark = event.target.closest?.("[data-tip]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX - width / 2, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY - height - 14 < 8 ? event.clientY + 18 : event.clientY - height - 14}px`;
});
report.addEventListener("pointerleave", () => (tip.hidden = true));
addEventListener("scroll", () => (tip.hidden = true), { passive: true });

function changed() {
  at("custom").hidden = filters.elements.days.value !== "custom";
  remember();
  load();
}

// On paper the charts are drawn for the width of a sheet, so that their words can be read.
addEventListener("beforeprint", () => {
  for (const plot of document.querySelectorAll(".plot")) redraw.get(plot)(plot.closest(".wide, #card-phases") ? SHEET.wide : SHEET.half);
});
addEventListener("afterprint", () => document.querySelectorAll(".plot").forEach((plot) => redraw.get(plot)()));

filters.addEventListener("change", changed);
filters.addEventListener("submit", (event) => event.preventDefault());
at("print").addEventListener("click", () => print());
at("unlock").addEventListener("submit", (event) => {
  event.preventDefault();
  api.keep(at("key").value.trim(), at("remember").checked);
  at("key").value = "";
  load();
});
restore();
load();
