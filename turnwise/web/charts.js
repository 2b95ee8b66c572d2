// Charts, drawn as SVG to the width they are given: one unit is one pixel, so that text keeps its size.

const NS = "http://www.w3.org/2000/svg";
const TEXT = 12.5;
const pen = document.createElement("canvas").getContext("2d");

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== "") element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function chart(width, height, ...children) {
  const shape = { class: "chart", viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width), height: round(height) };
  return draw("svg", { ...shape, "aria-hidden": "true" }, ...children);
}

const round = (value) => Math.round(value * 10) / 10;
const say = (x, y, words, attributes = {}) => draw("text", { x: round(x), y: round(y), ...attributes }, words);
const sum = (values) => values.reduce((total, value) => total + value, 0);

function width(text) {
  pen.font = `${TEXT}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// The text as far as there is room for it.
function fit(text, room) {
  if (width(text) <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && width(`${letters.join("")}…`) > room) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

// Round values from 0 to at least the highest.
export function ticks(highest, count = 4) {
  const rough = (highest || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  return Array.from({ length: Math.ceil((highest || 1) / step - 1e-9) + 1 }, (_, place) => +(place * step).toPrecision(12));
}

function grid(values, left, right, place, format) {
  return values.flatMap((value) => [
    draw("line", { class: value ? "grid" : "axis", x1: left, x2: right, y1: round(place(value)), y2: round(place(value)) }),
    say(left - 8, place(value) + 4, format(value), { class: "tick", "text-anchor": "end" }),
  ]);
}

// Every so many labels, so that none runs into the next.
function labels(rows, middle, y, right) {
  const room = Math.max(...rows.map((row) => width(row.label))) + 18;
  const every = Math.max(1, Math.ceil(room / Math.max(1, middle(1) - middle(0))));
  const shown = rows.map((row, place) => [row, place]).filter(([, place]) => (rows.length - 1 - place) % every === 0);
  return shown.map(([row, place]) => {
    const half = width(row.label) / 2;
    return say(Math.min(Math.max(middle(place), half), right - half), y, row.label, { class: "tick", "text-anchor": "middle" });
  });
}

// Upright bars over time; the parts of a row stand on one another in the order of the series.
export function columns({ rows, series, format = String, height = 220 }, full) {
  const highest = Math.max(...rows.map((row) => sum(row.parts)));
  const values = ticks(highest).filter((value) => Number.isInteger(value));
  const top = 10, bottom = height - 26, left = Math.max(...values.map((value) => width(format(value)))) + 10;
  const place = (value) => bottom - ((bottom - top) * value) / values.at(-1);
  const step = (full - left) / rows.length, thick = Math.max(1, Math.min(28, step * 0.72));
  const middle = (at) => left + step * (at + 0.5);
  const marks = rows.map((row, at) => {
    let from = 0;
    const bars = row.parts.map((part, index) => {
      const y = place(from + part), tall = place(from) - y;
      from += part;
      return part ? draw("rect", { class: series[index].style, x: round(middle(at) - thick / 2), y: round(y), width: round(thick), height: round(Math.max(1, tall)), rx: thick > 5 ? 1.5 : 0 }) : null;
    });
    return draw("g", { class: "mark", "data-tip": row.tip }, ...bars, draw("rect", { class: "hit", x: round(left + step * at), y: top, width: round(step), height: bottom - top }));
  });
  return chart(full, height, ...grid(values, left, full, place, format), ...marks, ...labels(rows, middle, height - 6, full));
}

// Shares over time: a dot a day, and the line of their mean over a week.
export function trend({ rows, format, height = 200 }, full) {
  const known = rows.filter((row) => row.value !== null);
  const values = ticks(Math.max(0.05, ...known.map((row) => row.value)), 3);
  const top = 10, bottom = height - 26, left = Math.max(...values.map((value) => width(format(value)))) + 10;
  const place = (value) => bottom - ((bottom - top) * value) / values.at(-1);
  const step = (full - left) / rows.length;
  const middle = (at) => left + step * (at + 0.5);
  const means = rows.map((_, at) => {
    const near = rows.slice(Math.max(0, at - 6), at + 1).map((row) => row.value).filter((value) => value !== null);
    return near.length ? sum(near) / near.length : null;
  });
  const points = means.map((mean, at) => (mean === null ? null : [round(middle(at)), round(place(mean))])).filter(Boolean);
  const path = points.map(([x, y], at) => `${at ? "L" : "M"}${x} ${y}`).join("");
  const under = points.length > 1 ? draw("path", { class: "under", d: `${path}L${points.at(-1)[0]} ${bottom}L${points[0][0]} ${bottom}Z` }) : null;
  const dots = rows.map((row, at) => draw("g", { class: "mark", "data-tip": row.tip },
    row.value === null ? null : draw("circle", { class: "dot", cx: round(middle(at)), cy: round(place(row.value)), r: step > 8 ? 3 : 1.8 }),
    draw("rect", { class: "hit", x: round(left + step * at), y: top, width: round(step), height: bottom - top })));
  return chart(full, height, ...grid(values, left, full, place, format), under, draw("path", { class: "line", d: path }), ...dots, ...labels(rows, middle, height - 6, full));
}

// What speaks for and against, upwards and downwards of one line.
export function mirror({ rows, height = 180 }, full) {
  const highest = Math.max(1, ...rows.flatMap((row) => [row.up, row.down]));
  const top = 8, bottom = height - 26, zero = (top + bottom) / 2, scale = (bottom - top) / 2 / highest;
  const step = full / rows.length, thick = Math.max(1, Math.min(22, step * 0.7));
  const middle = (at) => step * (at + 0.5);
  const marks = rows.map((row, at) => {
    const x = round(middle(at) - thick / 2), wide = { x, width: round(thick), rx: thick > 5 ? 1.5 : 0 };
    return draw("g", { class: "mark", "data-tip": row.tip },
      row.up ? draw("rect", { class: "s1", ...wide, y: round(zero - row.up * scale), height: round(row.up * scale) }) : null,
      row.down ? draw("rect", { class: "s2", ...wide, y: round(zero), height: round(row.down * scale) }) : null,
      draw("rect", { class: "hit", x: round(step * at), y: top, width: round(step), height: bottom - top }));
  });
  return chart(full, height, ...marks, draw("line", { class: "axis", x1: 0, x2: full, y1: zero, y2: zero }), ...labels(rows, middle, height - 6, full));
}

// Lying bars, each under or beside its name; `parts` divide it.
export function bars({ rows, series = [{ style: "s1" }], format = String }, full) {
  const parts = (row) => row.parts ?? [row.value];
  const highest = Math.max(...rows.map((row) => sum(parts(row)))) || 1;
  const beside = full >= 460;
  const amount = Math.max(...rows.map((row) => width(row.note ?? format(sum(parts(row)))))) + 10;
  const names = beside ? Math.min(full * 0.38, Math.max(...rows.map((row) => width(row.label))) + 14) : 0;
  const tall = beside ? 30 : 42, room = Math.max(20, full - names - (beside ? amount : 0));
  return chart(full, rows.length * tall + 2, ...rows.map((row, at) => {
    const y = at * tall, bar = beside ? y + 8 : y + 21, text = beside ? y + 18.5 : y + 15;
    let from = names;
    const drawn = parts(row).map((part, index) => {
      const wide = (room * part) / highest, x = from;
      from += wide;
      return part ? draw("rect", { class: series[index].style, x: round(x), y: bar, width: round(Math.max(2, wide)), height: 12, rx: 2 }) : null;
    });
    return draw("g", { class: "mark", "data-tip": row.tip ?? row.label },
      draw("rect", { class: "hit", x: 0, y, width: round(full), height: tall }),
      say(0, text, fit(row.label, beside ? names - 14 : full - amount), { class: "label" }),
      draw("rect", { class: "track", x: round(names), y: bar, width: round(room), height: 12, rx: 2 }),
      ...drawn,
      say(full, beside ? bar + 10.5 : text, row.note ?? format(sum(parts(row))), { class: "amount", "text-anchor": "end" }));
  }));
}

// How long things take: half are done by the end of the strong bar, 95 of 100 by the end of the faint one.
export function ranges({ rows, format }, full) {
  const highest = Math.max(...rows.map((row) => row.p95)) || 1;
  const beside = full >= 460;
  const names = beside ? Math.min(full * 0.34, Math.max(...rows.map((row) => width(row.label))) + 16) : 0;
  const values = ticks(highest, full >= 460 ? 5 : 3), tall = beside ? 28 : 42;
  const amount = Math.max(...rows.map((row) => width(row.note))) + 16;
  const right = full - (beside ? amount : width(format(values.at(-1))) / 2 + 2);
  const place = (value) => names + ((right - names) * value) / values.at(-1);
  const bottom = rows.length * tall + 6;
  const lines = values.map((value) => draw("line", { class: value ? "grid" : "axis", x1: round(place(value)), x2: round(place(value)), y1: 0, y2: bottom }));
  const under = values.map((value, at) => say(place(value), bottom + 16, format(value), { class: "tick", "text-anchor": at || names ? "middle" : "start" }));
  const marks = rows.map((row, at) => {
    const y = at * tall + (beside ? 7 : 23);
    return draw("g", { class: row.whole ? "mark whole" : "mark", "data-tip": row.tip },
      draw("rect", { class: "hit", x: 0, y: at * tall, width: round(full), height: tall }),
      say(0, beside ? y + 11 : y - 6, fit(row.label, beside ? names - 14 : full - amount), { class: "label" }),
      say(full, beside ? y + 11 : y - 6, row.note, { class: "amount", "text-anchor": "end" }),
      draw("rect", { class: "far", x: round(names), y, width: round(Math.max(2, place(row.p95) - names)), height: 13, rx: 2 }),
      draw("rect", { class: "near", x: round(names), y, width: round(Math.max(2, place(row.p50) - names)), height: 13, rx: 2 }));
  });
  return chart(full, bottom + 22, ...lines, ...marks, ...under);
}

// A ring of shares around the one number that matters.
export function donut({ parts, big, small }, full) {
  const size = Math.min(full, 210), middle = size / 2, radius = size * 0.4, thick = size * 0.13;
  const total = sum(parts.map((part) => part.value));
  let from = 0;
  const arcs = parts.filter((part) => part.value).map((part) => {
    const share = part.value / total, start = from;
    from += share;
    const tip = { class: `arc ${part.style}`, "data-tip": part.tip, "stroke-width": thick };
    if (share > 0.9999) return draw("circle", { ...tip, cx: middle, cy: middle, r: radius });
    const [a, b] = [start + 0.004, from - 0.004].map((turn) => turn * 2 * Math.PI - Math.PI / 2);
    const at = (angle) => `${round(middle + radius * Math.cos(angle))} ${round(middle + radius * Math.sin(angle))}`;
    return draw("path", { ...tip, d: `M${at(a)}A${radius} ${radius} 0 ${b - a > Math.PI ? 1 : 0} 1 ${at(Math.max(a, b))}` });
  });
  return chart(size, size, ...arcs,
    say(middle, middle + 6, big, { class: "big", "text-anchor": "middle" }),
    say(middle, middle + 25, small, { class: "tick", "text-anchor": "middle" }));
}

// Ways from the topics on the left to those on the right, as wide as they are trodden.
export function flow({ links, tip }, full) {
  const side = (end) => {
    const totals = new Map();
    for (const link of links) totals.set(link[end], (totals.get(link[end]) ?? 0) + link.turns);
    return [...totals].sort((one, other) => other[1] - one[1]).map(([name, turns]) => ({ name, turns }));
  };
  const [left, right] = [side("from"), side("to")];
  const gap = 16, total = sum(links.map((link) => link.turns)), most = Math.max(left.length, right.length);
  const height = Math.max(120, most * 40), scale = (height - gap * (most - 1)) / total;
  const longest = Math.max(...[...left, ...right].map((node) => width(node.name)));
  const room = Math.min(full * (full < 460 ? 0.33 : 0.27), longest + 16), thick = 9;
  const placed = (nodes) => {
    let y = (height - scale * total - gap * (nodes.length - 1)) / 2;
    return new Map(nodes.map((node, at) => {
      const found = { ...node, y, tall: node.turns * scale, used: 0, style: `s${(at % 5) + 1}` };
      y += found.tall + gap;
      return [node.name, found];
    }));
  };
  const [from, to] = [placed(left), placed(right)];
  const order = [...to.keys()], first = [...from.keys()];
  const sorted = [...links].sort((one, other) => first.indexOf(one.from) - first.indexOf(other.from) || order.indexOf(one.to) - order.indexOf(other.to));
  const x1 = room + thick, x2 = full - room - thick, bend = (x1 + x2) / 2;
  const ribbons = sorted.map((link) => {
    const a = from.get(link.from), b = to.get(link.to), tall = Math.max(1, link.turns * scale);
    const y1 = a.y + a.used + tall / 2, y2 = b.y + b.used + tall / 2;
    a.used += tall;
    b.used += tall;
    return draw("path", { class: `ribbon ${a.style}`, d: `M${round(x1)} ${round(y1)}C${round(bend)} ${round(y1)} ${round(bend)} ${round(y2)} ${round(x2)} ${round(y2)}`, "stroke-width": round(tall), "data-tip": tip(link) });
  });
  const nodes = (map, x, text, anchor) => [...map.values()].flatMap((node) => [
    draw("rect", { class: anchor === "end" ? node.style : "ends", x: round(x), y: round(node.y), width: thick, height: round(Math.max(2, node.tall)), rx: 1.5 }),
    say(text, node.y + node.tall / 2 + 4, fit(node.name, room - 10), { class: "label", "text-anchor": anchor }),
  ]);
  return chart(full, height + 2, ...ribbons, ...nodes(from, room, room - 8, "end"), ...nodes(to, full - room - thick, full - room + 8, "start"));
}

// Where people stood at first (hollow) and at last (full), on one scale for all.
export function tracks({ rows, scale }, full) {
  const beside = full >= 460, tall = beside ? 38 : 54;
  const names = beside ? Math.min(full * 0.3, Math.max(...rows.map((row) => width(row.label))) + 24) : 8;
  const right = full - (beside ? Math.max(...rows.map((row) => width(row.note))) + 20 : 10);
  const place = (value) => names + ((right - names) * value) / (scale.length - 1);
  const top = 26, bottom = top + rows.length * tall;
  const lines = scale.flatMap((name, at) => [
    draw("line", { class: "grid", x1: round(place(at)), x2: round(place(at)), y1: top - 6, y2: bottom }),
    say(place(at), 12, name, { class: "tick", "text-anchor": at === 0 ? "start" : at === scale.length - 1 ? "end" : "middle" }),
  ]);
  return chart(full, bottom + 4, ...lines, ...rows.map((row, at) => {
    const y = top + at * tall + (beside ? tall / 2 : tall - 16);
    const [a, b] = [place(row.first), place(row.last)];
    return draw("g", { class: "mark", "data-tip": row.tip },
      draw("rect", { class: "hit", x: 0, y: top + at * tall, width: round(full), height: tall }),
      say(0, beside ? y + 4 : y - 16, fit(row.label, beside ? names - 22 : full * 0.5), { class: "label" }),
      draw("line", { class: row.last >= row.first ? "gain" : "loss", x1: round(a), x2: round(b), y1: y, y2: y }),
      draw("circle", { class: row.last >= row.first ? "began gain" : "began loss", cx: round(a), cy: y, r: 5 }),
      draw("circle", { class: row.last >= row.first ? "ended gain" : "ended loss", cx: round(b), cy: y, r: 6 }),
      say(full, beside ? y + 4 : y - 16, row.note, { class: "amount", "text-anchor": "end" }));
  }));
}
