// Marks the words of a query in a text.

const SHORTEST = 3; // characters; shorter words are too common
const COMMON = /^(the|and|but|for|not|are|was|were|has|have|had|did|does|can|how|why|who|what|when|where|which|with|from|that|this|its|you|your|our|they|them|there|been|will)$/;

// The words of a query that are worth marking, longest first.
export function wordsOf(query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.filter((word) => word.length >= SHORTEST && !COMMON.test(word)))].sort((a, b) => b.length - a.length);
}

// Split a text into pieces, with a <mark> around every word that begins with the stem of a query word.
export function highlighted(text, words) {
  if (!words.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.map(stem).join("|")})[\\p{L}\\p{N}]*`, "giu");
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const mark = document.createElement("mark");
    mark.textContent = match[0];
    pieces.push(text.slice(from, match.index), mark);
    from = match.index + match[0].length;
  }
  return [...pieces, text.slice(from)];
}

// Drop the last letter or two of a longer word, so that plurals and other forms are marked too. The result needs no
// escaping in a regular expression, because words consist of letters and digits.
function stem(word) {
  return word.length > 6 ? word.slice(0, -2) : word.length > 4 ? word.slice(0, -1) : word;
}
