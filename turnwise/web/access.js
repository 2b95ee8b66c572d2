// Who is asking: the key that a server may want, and what it lets its holder do.

import { get, keep, key, onLocked } from "./api.js";
import { at } from "./dom.js";

const dialog = at("key");
export const me = { edit: false, manage: false };
let asking = null; // one dialog at a time, whoever needs the key

// Asks for a key where the server wants one. True where there is another one now.
onLocked((problem, used) => {
  if (key() && key() !== used) return Promise.resolve(true); // somebody has entered it in the meantime
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
      if (dialog.returnValue === "yes" && secret) keep(secret, given.has("remember"));
      resolve(dialog.returnValue === "yes" && secret !== "");
    }, { once: true });
  });
}

// What the page may offer. A server that does not say lets everybody do everything.
export async function whoAmI() {
  const { may = "manage", open = true, name = "" } = await get("/api/me").catch((error) => (error.status === 401 ? { may: "ask", open: false } : {}));
  me.edit = may !== "ask";
  me.manage = may === "manage";
  me.open = open;
  me.name = name;
  at("dashboard").hidden = !me.manage;
  document.body.classList.toggle("may-edit", me.edit);
}

export function forgetKey() {
  keep("");
  location.reload();
}
