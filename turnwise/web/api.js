// Requests to the server, with the key where it wants one, and every failure as a Problem that has kind words.

export class Problem extends Error {
  constructor({ detail, message, hint = "", code = "", status = 0 }) {
    super(detail ?? message);
    Object.assign(this, { hint, code, status });
  }
}

const UNREACHABLE = { detail: "Turnwise cannot be reached.", hint: "Check that it is still running, then try again.", code: "Unreachable" };
const NAME = "turnwise-key";
let unlock = null; // asks the reader for a key; given by access.js

export function onLocked(handler) {
  unlock = handler;
}

export function key() {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? "";
}

export function keep(secret, remember = false) {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
  if (secret) (remember ? localStorage : sessionStorage).setItem(NAME, secret);
}

function keyed(headers = {}) {
  return key() ? { ...headers, Authorization: `Bearer ${key()}` } : headers;
}

export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: keyed(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(UNREACHABLE);
  }
  if (response.ok) return response;
  const problem = new Problem(await told(response));
  if (response.status === 401 && unlock && (await unlock(problem, key()))) return request(path, options);
  throw problem;
}

async function told(response) {
  const fallback = { detail: `The server answered with status ${response.status}.` };
  return { ...(await response.json().catch(() => fallback)), status: response.status };
}

export async function get(path, options) {
  return (await request(path, options)).json();
}

// Sends JSON where there is a body; gives the JSON that comes back, or null where none does.
export async function send(method, path, body, headers = {}) {
  const said = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } };
  const response = await request(path, { method, ...said, keepalive: method === "DELETE" });
  return response.status === 204 ? null : response.json();
}

const MAX_NAME = 200;

// The name that a file is sent under: macOS writes a narrow space before “PM”, and others have signs that cannot be seen.
export function sentName({ name }) {
  const seen = name.replace(/\p{Z}/gu, " ").replace(/\p{C}/gu, "");
  if ([...seen].length <= MAX_NAME) return encodeURIComponent(seen);
  throw new Problem({ message: "The name of this file is too long.", hint: `Give it one of at most ${MAX_NAME} characters.` });
}

// Sends a file, with `progress(share)` while its bytes go out. An abort of `signal` stops it.
export function upload(path, file, progress, signal) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open("PUT", path);
    sending.responseType = "json";
    const headers = keyed({ "Content-Type": file.type || "application/octet-stream" });
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    sending.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 1);
    sending.onerror = () => reject(new Problem(UNREACHABLE));
    sending.onload = () => {
      if (sending.status < 300) return resolve(sending.response);
      const fallback = { detail: `The server answered with status ${sending.status}.` };
      reject(new Problem({ ...(sending.response ?? fallback), status: sending.status }));
    };
    sending.onabort = () => reject(signal.reason);
    signal?.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

// Saves what an address gives as a file on this machine. A link could not carry the key.
export async function download(path, name) {
  const response = await request(path);
  const said = response.headers.get("Content-Disposition") ?? "";
  const [, encoded] = /filename\*=UTF-8''([^;]+)/.exec(said) ?? []; // in any script; the plain name has Latin letters alone
  const suggested = encoded ? decodeURIComponent(encoded) : /filename="?([^";]+)"?/.exec(said)?.[1];
  const address = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement("a"), { href: address, download: suggested ?? name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export function conversationPath(id, rest = "") {
  return `/api/conversations/${encodeURIComponent(id)}${rest}`;
}
