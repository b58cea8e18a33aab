"""Word vector tables: GloVe, word2vec and fastText files, and the model folders built from them."""
