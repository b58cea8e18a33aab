// Sums rows of a table in registers, several vectors of columns at a time.
#pragma once

constexpr long ROWS_AHEAD = 4;  // rows to prefetch: they lie anywhere in a table larger than the nearest caches

inline Floats word_part(const float* p, Floats) { return load(p); }
inline Floats word_part(const int8_t* p, Floats scale) { return mul(load_bytes(p), scale); }

template <class Element>
inline void prefetch_row(const Element* row, long columns) {
    const auto first = reinterpret_cast<const char*>(row);
    const long bytes = columns * static_cast<long>(sizeof(Element));
    for (long at = 0; at < bytes; at += LINE) __builtin_prefetch(first + at);
    __builtin_prefetch(first + bytes - 1);
}

// Sums the vectors from `column` on; the last one starts at `last`, which overlaps the one before it at a row's end.
template <class Element, int VECTORS>
void sum_vectors(const WordSum& s, long column, long last) {
    const auto words = static_cast<const Element*>(s.words);
    const auto at = [&](int vector) { return vector + 1 < VECTORS ? column + vector * WIDTH : last; };
    Floats sums[VECTORS];
    each<VECTORS>([&](auto v) { sums[v] = splat(0.0F); });
    for (long i = 0; i < s.count; i++) {
        if (column == 0 && i + ROWS_AHEAD < s.known) prefetch_row(words + s.ids[i + ROWS_AHEAD] * s.columns, s.columns);
        const Element* row = words + s.ids[i] * s.columns;
        const Floats scale = splat(s.scales ? s.scales[s.ids[i]] : 1.0F);
        each<VECTORS>([&](auto v) { sums[v] = add(sums[v], word_part(row + at(v), scale)); });
    }
    const Floats total = splat(s.total);
    each<VECTORS>([&](auto v) { store(s.out + at(v), divide(sums[v], total)); });
}

// Columns shared by two vectors are computed twice, with equal results.
template <class Element>
void sum_columns(const WordSum& s) {
    const int vectors = static_cast<int>((s.columns + WIDTH - 1) / WIDTH), parts = panels_of(vectors, WORD_VECTORS);
    for (int part = 0; part < parts; part++) {
        const int first = panel_start(vectors, parts, part), end = panel_start(vectors, parts, part + 1);
        const long last = std::min<long>((end - 1) * WIDTH, s.columns - WIDTH);
        with_constant<WORD_VECTORS>(end - first, [&](auto count) { sum_vectors<Element, count>(s, first * WIDTH, last); });
    }
}

void sum_words(const WordSum& s) { s.scales ? sum_columns<int8_t>(s) : sum_columns<float>(s); }
