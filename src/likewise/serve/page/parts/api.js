// What the page asks of its server, and what it says when that fails.

const KEY_NAME = "likewise-api-key";
let key = null;
let asking = null;

export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// The JSON that the server answers; a body makes it a POST. Asks for an API key where one is needed.
export async function request(path, body, signal) {
  for (;;) {
    const answer = await send(path, body, signal);
    if (answer.status !== 401) return answer.ok ? answer.json() : Promise.reject(await failureOf(answer));
    if (!(await askForKey(storedKey() ? "The server does not know this key." : ""))) throw await failureOf(answer);
  }
}

async function send(path, body, signal) {
  const headers = storedKey() ? { authorization: `Bearer ${storedKey()}` } : {};
  const options = { headers, signal };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    headers["content-type"] = "application/json";
  }
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw notThere();
  }
}

export function notThere() {
  return new Failure("The server does not answer. Is it still running?", 0);
}

// Each API has its own shape of an error.
async function failureOf(answer) {
  let message = "";
  try {
    const body = await answer.json();
    message = body.error?.message ?? body.error ?? body.message ?? body.detail;
  } catch {
    // not JSON
  }
  const wait = answer.headers.get("retry-after");
  const busy = answer.status === 429 && wait ? ` It asks to wait ${wait} s.` : "";
  return new Failure(`${message || `The server answered with status ${answer.status}.`}${busy}`, answer.status);
}

function storedKey() {
  if (key !== null) return key;
  try {
    key = sessionStorage.getItem(KEY_NAME) ?? "";
  } catch {
    key = "";
  }
  return key;
}

function storeKey(value) {
  key = value;
  try {
    sessionStorage.setItem(KEY_NAME, value);
  } catch {
    // kept until the page is left
  }
}

// True once a key was entered; several requests that need one wait for the same dialog.
function askForKey(error) {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key-dialog");
    const input = document.getElementById("key");
    document.getElementById("key-error").textContent = error;
    input.value = "";
    dialog.returnValue = "";
    dialog.showModal();
    dialog.addEventListener("close", () => {
      asking = null;
      if (dialog.returnValue === "use") storeKey(input.value.trim());
      resolve(dialog.returnValue === "use");
    }, { once: true });
  });
  return asking;
}

// Requests of which only the latest counts: an earlier one that is still under way is given up.
export class Latest {
  #controller = null;

  async request(path, body) {
    this.cancel();
    const controller = new AbortController();
    this.#controller = controller;
    const answer = await request(path, body, controller.signal);
    if (controller.signal.aborted) throw new DOMException("a later request took its place", "AbortError");
    return answer;
  }

  cancel() {
    this.#controller?.abort();
  }
}

export const isAbort = (error) => error.name === "AbortError";
