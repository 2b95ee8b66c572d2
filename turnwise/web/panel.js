// The source behind a citation, beside the conversation or, on a phone, over its lower half.

const panel = document.getElementById("source");
const find = (part) => document.getElementById(`source-${part}`);
let opener = null;

export function openSource(source, from) {
  opener?.classList.remove("open");
  opener = from;
  opener.classList.add("open");
  find("number").textContent = source.number;
  find("title").textContent = source.title;
  const { authors = [], year } = source.reference ?? {};
  const place = [authors.join("; "), year, source.heading.replaceAll(" > ", " › "), source.page && `page ${source.page}`];
  find("place").textContent = place.filter(Boolean).join(" · ");
  find("path").textContent = source.source;
  find("text").replaceChildren(...highlighted(source.text, source.quote));
  panel.hidden = false;
  document.body.classList.add("reading");
  panel.scrollTop = 0;
  find("text").querySelector("mark")?.scrollIntoView({ block: "nearest" });
  find("title").focus({ preventScroll: true });
  opener.scrollIntoView({ block: "nearest" });
}

export function closeSource() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("reading");
  opener?.classList.remove("open");
  if (opener?.isConnected) opener.focus({ preventScroll: true });
  opener = null;
}

// The passage with the quoted sentence marked, however either breaks its lines.
function highlighted(text, quote) {
  const words = quote.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const found = words.length ? new RegExp(words.join("\\s+")).exec(text) : null;
  if (!found) return [text];
  const mark = document.createElement("mark");
  mark.textContent = found[0];
  return [text.slice(0, found.index), mark, text.slice(found.index + found[0].length)];
}

document.getElementById("close-source").addEventListener("click", closeSource);
document.addEventListener("keydown", (event) => event.key === "Escape" && closeSource());
