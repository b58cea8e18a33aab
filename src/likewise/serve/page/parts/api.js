// The page's requests to its server, and the error messages for failed requests.

const KEY_NAME = "likewise-api-key";
let key = null;
let asking = null;

export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// Returns the server's JSON response; a request with a body is a POST. If the server requires an API key, asks the user
// for it.
export async function request(path, body, signal) {
  for (;;) {
    const answer = await send(path, body, signal);
    if (answer.status !== 401) return answer.ok ? answer.json() : Promise.reject(await failureOf(answer));
    if (!(await askForKey(storedKey() ? "The server does not recognize this key." : ""))) throw await failureOf(answer);
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
  return new Failure("The server is not responding. Is it still running?", 0);
}

// Each API has its own error format.
async function failureOf(answer) {
  let message = "";
  try {
    const body = await answer.json();
    message = body.error?.message ?? body.error ?? body.message ?? body.detail;
  } catch {
    // not JSON
  }
  const wait = answer.headers.get("retry-after");
  const busy = answer.status === 429 && wait ? ` Try again in ${wait} s.` : "";
  return new Failure(`${message || `The server responded with status ${answer.status}.`}${busy}`, answer.status);
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
    // storage is disabled; the key is kept until the page is closed
  }
}

// Resolves to true once a key has been entered; several requests that need a key wait for the same dialog.
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

// Sends requests of which only the latest matters: a new request cancels an earlier one that is still running.
export class Latest {
  #controller = null;

  async request(path, body) {
    this.cancel();
    const controller = new AbortController();
    this.#controller = controller;
    const answer = await request(path, body, controller.signal);
    if (controller.signal.aborted) throw new DOMException("a later request replaced this one", "AbortError");
    return answer;
  }

  cancel() {
    this.#controller?.abort();
  }
}

export const isAbort = (error) => error.name === "AbortError";
