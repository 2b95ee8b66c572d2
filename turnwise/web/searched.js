// What an answer's search was for and why, as a line that can be edited.

import { button, clipped, make } from "./dom.js";

export function searched(reply, view) {
  if (!reply.trace?.length) return null; // a turn that was brought in from elsewhere
  const stages = new Map(reply.trace.map((stage) => [stage.stage, stage]));
  const line = make("p", { className: "searched" });
  const searches = stages.get("retrieve")?.details.searches ?? [];
  if (!searches.length) {
    line.append("Searched for nothing", because(stages.get("plan")));
    return line;
  }
  const quoted = (list) => list.map((each) => `“${clipped(each)}”`).join(" and ");
  const whole = searches.includes(reply.condensed_query); // else its parts were searched, each by itself
  const others = whole ? searches.filter((each) => each !== reply.condensed_query) : [];
  const query = make("b", { dir: "auto", textContent: quoted(whole ? [reply.condensed_query] : searches) });
  const edit = button("Edit", () => line.replaceWith(editor(reply.condensed_query, line, view)), "link");
  edit.ariaLabel = "Edit what is searched for and ask again";
  const also = others.length ? `, and for ${quoted(others)}` : "";
  line.append("Searched for ", query, " ", edit, also, because(stages.get("condense")));
  return line;
}

function because(stage) {
  if (!stage?.reason) return "";
  const reason = stage.decision === "caller" ? "you put it in these words" : stage.reason.replace(/\.$/, "");
  return make("span", { className: "because", textContent: ` — because ${reason}` });
}

function editor(query, line, view) {
  const input = make("input", { type: "text", className: "field", value: query, ariaLabel: "Search for" });
  const form = make("form", { className: "editor" }, input, make("button", { className: "strong", textContent: "Search for this" }));
  const close = () => {
    form.replaceWith(line);
    line.querySelector("button")?.focus();
  };
  form.append(button("Cancel", close), make("small", { textContent: view.host.consequence(view) }));
  form.onsubmit = (event) => {
    event.preventDefault();
    if (view.host.isBusy()) return;
    form.replaceWith(line);
    view.host.searchFor(view, input.value.trim() || undefined);
  };
  form.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), close()));
  requestAnimationFrame(() => (input.focus(), form.scrollIntoView({ block: "nearest" })));
  return form;
}
