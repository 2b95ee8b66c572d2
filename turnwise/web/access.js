// Who is asking: the key that a server may want, and what it lets its holder do.

import { get, keep, key, onLocked } from "./api.js";
import { at } from "./dom.js";

const dialog = at("key");
export const me = { edit: false, manage: false, known: false };
const QUIET = 3000; // milliseconds in which a closed dialog is not opened again by what else was under way
let asking = null; // one dialog at a time, whoever needs the key
let declined = -QUIET;

// Asks for a key where the server wants one. True where there is another one now.
onLocked((problem, used) => {
  if (key() && key() !== used) return Promise.resolve(true); // somebody has entered it in the meantime
  if (performance.now() - declined < QUIET) return Promise.resolve(false);
  asking ??= enter(problem, used).finally(() => (asking = null));
  return asking;
});

function enter(problem, used) {
  dialog.querySelector("#key-refused").textContent = used ? `${problem.message} ${problem.hint ?? ""}` : "";
  dialog.querySelector("form").reset();
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = new FormData(dialog.querySelector("form"));
      const secret = given.get("secret").trim();
      const entered = dialog.returnValue === "yes" && secret !== "";
      if (entered) keep(secret, given.has("remember"));
      else declined = performance.now();
      resolve(entered);
      if (entered && me.known) whoAmI().then(() => ["library", "conversations"].forEach((each) => dispatchEvent(new Event(each))));
    }, { once: true });
  });
}

// What the page may offer. A server that does not say lets everybody do everything.
export async function whoAmI() {
  const { may = "manage" } = await get("/api/me").catch((error) => (error.status === 401 ? { may: "ask" } : {}));
  me.edit = may !== "ask";
  me.manage = may === "manage";
  me.known = true;
  at("dashboard").hidden = !me.manage;
  document.body.classList.toggle("may-edit", me.edit);
}

export function forgetKey() {
  keep("");
  location.reload();
}
