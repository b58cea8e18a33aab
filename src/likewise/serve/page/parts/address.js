// The part of the address after #, which holds the view and its contents, so that the user can share a link to them.

const LONGEST = 16000; // maximum number of characters in an address; some programs cut off longer addresses
let isWhole = true;
let model = null; // the model named in every address; null means the server's first model

export function useModel(name) {
  model = name;
}

// "#why?a=one&b=two" → { view: "why", values: { a: "one", b: "two" } }
export function readAddress() {
  const [view, query = ""] = decodeHash().split("?", 2);
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

function decodeHash() {
  const hash = location.hash.slice(1);
  const at = hash.indexOf("?");
  return at < 0 ? hash : `${hash.slice(0, at)}?${hash.slice(at + 1).replaceAll("?", "%3F")}`;
}

// The address of a view with these values; empty values are left out.
export function addressOf(view, values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return query ? `#${view}?${query}` : `#${view}`;
}

// Put the view and its values into the address, without adding an entry to the browser history.
export function noteAddress(view, values) {
  const whole = addressOf(view, { ...values, model });
  isWhole = whole.length <= LONGEST;
  const address = isWhole ? whole : addressOf(view, { model });
  if (readAddress().view === view && location.hash !== address) history.replaceState(null, "", address);
}

// Whether the address contains everything that the view shows.
export function holdsAll() {
  return isWhole;
}
