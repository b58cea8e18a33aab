// Example texts, so that each view shows something from the start.

export const SENTENCE_SETS = [
  ["Three topics", [
    "A cat is asleep on the warm windowsill.",
    "A kitten naps in the sun by the window.",
    "The old dog snores beside the fire.",
    "The central bank raised interest rates.",
    "Borrowing money has become more expensive.",
    "How do I reset my password?",
    "I can't log in to my account any more.",
  ]],
  ["Hard cases", [
    "The film was good.",
    "The film was not good.",
    "The film was bad.",
    "The man bit the dog.",
    "The dog bit the man.",
    "It costs ten euros.",
    "It costs a thousand euros.",
  ]],
  ["One question, many wordings", [
    "When does the shop open?",
    "What are your opening hours?",
    "From what time can I come by?",
    "Is the store open on Sundays?",
    "When do you close?",
    "Where is the shop?",
  ]],
];

export const SENTENCE_PAIRS = [
  ["Same meaning", ["A cat is asleep on the warm windowsill.", "A kitten naps in the sun by the window."]],
  ["Question and answer", ["How long do cats sleep?", "Cats spend twelve to sixteen hours a day asleep."]],
  ["Only “not” differs", ["The film was good.", "The film was not good."]],
  ["Who did what", ["The man bit the dog.", "The dog bit the man."]],
  ["Unrelated", ["The central bank raised interest rates.", "The old dog snores beside the fire."]],
];

export const SENTENCES = [
  ["A bank", "She sat on the bank of the river and counted the money from the bank."],
  ["A time", "Time flies like an arrow, but fruit flies like a banana."],
  ["A simple sentence", "A cat is asleep on the warm windowsill."],
];
