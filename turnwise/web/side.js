// The place beside the conversation, or over its lower half on a phone: one panel at a time, closed with Escape.

import { at } from "./dom.js";

let open = null; // {panel, opener}

export function openSide(panel, opener, className = "") {
  if (open && open.panel !== panel) closeSide(false);
  open = { panel, opener, className };
  panel.hidden = false;
  document.body.classList.add("beside", ...(className ? [className] : []));
}

// `back` gives the focus back to what opened the panel.
export function closeSide(back = true) {
  if (!open) return;
  const { panel, opener, className } = open;
  open = null;
  panel.hidden = true;
  document.body.classList.remove("beside", ...(className ? [className] : []));
  panel.dispatchEvent(new Event("closed"));
  const element = typeof opener === "function" ? opener() : opener;
  if (back && element?.isConnected) element.focus({ preventScroll: true });
}

export function isOpen(panel) {
  return open?.panel === panel;
}

for (const id of ["close-source", "close-documents"]) at(id).addEventListener("click", () => closeSide());
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !open || event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
  event.preventDefault(); // this key has closed something: it does not stop an answer as well
  closeSide();
});
