// Damages model folders and texts, and opens and encodes them: each must be read or refused, under sanitizers.
//   folders FOLDER [ROUNDS]    reads a folder's files and changes bytes of them at random
#include <random>

#include "folders.h"

namespace {

// Some bytes of a text replaced by others, or by pieces that parsers stumble over.
template <class Draw>
void damage(std::string& bytes, Draw draw) {
    static const std::string PIECES[] = {"", "{", "]", "\"", "null", "-1", "1e999", "\\ud800", std::string(1, '\0'), "\xff\xfe", "[[[[[[[[", "99999999999"};
    const size_t most = draw(4) ? std::min<size_t>(bytes.size(), 4096) : bytes.size();  // most is decided in the first bytes
    const size_t at = draw(most + 1), gone = draw(2) ? draw(std::min<size_t>(bytes.size() - at, 8) + 1) : 0;
    bytes.replace(at, gone, draw(2) ? PIECES[draw(std::size(PIECES))] : std::string(1 + draw(3), static_cast<char>(draw(256))));
    if (draw(16) == 0) bytes.resize(draw(bytes.size() + 1));
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2) return std::fprintf(stderr, "usage: folders FOLDER [ROUNDS]\n"), 2;
    const Files files = files_of(arguments[1]);
    const int rounds = count > 2 ? std::atoi(arguments[2]) : 1000;
    std::mt19937 generator(1);
    const auto draw = [&](size_t below) { return below ? generator() % below : 0; };
    if (!encode(files, "the cat", LW_AS_FP32)) return std::fprintf(stderr, "%s cannot be opened undamaged\n", arguments[1]), 1;
    int opened = 0;
    for (int i = 0; i < rounds; i++) {
        Files damaged = files;
        std::string text = "the quick \xe7\x8c\xab cat";
        if (draw(4) == 0) {
            damage(text, draw);
        } else {
            auto file = std::next(damaged.begin(), static_cast<long>(draw(damaged.size())));
            damage(file->second, draw);
            if (draw(32) == 0) damaged.erase(file);
        }
        opened += encode(damaged, text, static_cast<int32_t>(draw(3)));
    }
    std::printf("%d damaged folders and texts: %d could be opened, the others were refused\n", rounds, opened);
    return 0;
}
