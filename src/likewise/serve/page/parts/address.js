// The part of the address after #: the view and what it shows, so that the address can be shared.

let model = null; // the model in every address; null means the server's first model

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

// The address of a view that shows these values; empty values are left out.
export function addressOf(view, values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return query ? `#${view}?${query}` : `#${view}`;
}

// Put what is shown into the address, without a new entry in the history.
export function noteAddress(view, values) {
  const address = addressOf(view, { ...values, model });
  if (readAddress().view === view && location.hash !== address && address.length < 4000) {
    history.replaceState(null, "", address);
  }
}
