#include "json.h"

#include <cmath>
#include <cstdlib>

#include "../failure.h"
#include "unicode.h"

namespace likewise::json {

namespace {

constexpr int MAX_DEPTH = 64;
constexpr uint32_t MISSING = UINT32_MAX;

}  // namespace

class Reader {
public:
    Reader(std::string_view source, Document& document) : source_(source), document_(document) {}

    void read() {
        value(0);
        skip_space();
        if (at_ != source_.size()) wrong("the end of the file");
    }

private:
    std::string_view source_;
    Document& document_;
    size_t at_ = 0;

    [[noreturn]] void wrong(const char* wanted) const {
        refuse("the JSON is broken at byte " + std::to_string(at_) + ": expected " + wanted);
    }

    void skip_space() {
        while (at_ < source_.size() && (source_[at_] == ' ' || source_[at_] == '\t' || source_[at_] == '\n' ||
                                        source_[at_] == '\r'))
            at_++;
    }

    char peek() { return at_ < source_.size() ? source_[at_] : '\0'; }

    bool take(char c) {
        skip_space();
        if (peek() != c) return false;
        at_++;
        return true;
    }

    uint32_t add(Kind kind, double number = 0, std::string_view text = {}) {
        const auto place = static_cast<uint32_t>(document_.nodes_.size());
        document_.nodes_.push_back({kind, place + 1, number, text});
        return place;
    }

    void word(const char* letters, Kind kind) {
        const std::string_view wanted(letters);
        if (source_.substr(at_, wanted.size()) != wanted) wrong("a value");
        at_ += wanted.size();
        add(kind);
    }

    void value(int depth) {
        skip_space();
        switch (peek()) {
            case '{': return members(Kind::OBJECT, '}', depth);
            case '[': return members(Kind::ARRAY, ']', depth);
            case '"': return text();
            case 't': return word("true", Kind::TRUE);
            case 'f': return word("false", Kind::FALSE);
            case 'n': return word("null", Kind::NOTHING);
            default: return number();
        }
    }

    void members(Kind kind, char close, int depth) {
        if (depth == MAX_DEPTH) wrong("at most 64 levels of arrays and objects");
        const uint32_t place = add(kind);
        at_++;
        if (!take(close)) {
            do {
                skip_space();
                if (kind == Kind::OBJECT) {
                    if (peek() != '"') wrong("a name");
                    text();
                    if (!take(':')) wrong("a colon");
                }
                value(depth + 1);
            } while (take(','));
            if (!take(close)) wrong("a comma or the end of an array or object");
        }
        document_.nodes_[place].end = static_cast<uint32_t>(document_.nodes_.size());
    }

    void number() {
        const size_t start = at_;
        while (at_ < source_.size() && (std::isdigit(static_cast<unsigned char>(source_[at_])) ||
                                        std::string_view("+-.eE").find(source_[at_]) != std::string_view::npos))
            at_++;
        const std::string digits(source_.substr(start, at_ - start));
        char* end = nullptr;
        const double found = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != '\0' || !std::isfinite(found)) {
            at_ = start;
            wrong("a value");
        }
        add(Kind::NUMBER, found);
    }

    void text() {
        const size_t start = ++at_;
        while (peek() != '"' && peek() != '\\') {
            if (static_cast<unsigned char>(peek()) < 0x20) wrong("the end of a text");
            at_++;
        }
        if (peek() == '"') {
            add(Kind::TEXT, 0, source_.substr(start, at_++ - start));
            return;
        }
        std::string& out = document_.decoded_.emplace_back(source_.substr(start, at_ - start));
        while (peek() != '"') {
            if (static_cast<unsigned char>(peek()) < 0x20) wrong("the end of a text");
            if (peek() == '\\')
                escape(out);
            else
                out += source_[at_++];
        }
        at_++;
        add(Kind::TEXT, 0, out);
    }

    void escape(std::string& out) {
        static constexpr std::string_view NAMES = "\"\\/bfnrt", MEANT = "\"\\/\b\f\n\r\t";
        const char name = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
        at_ += 2;
        const size_t known = name ? NAMES.find(name) : std::string_view::npos;
        if (known != std::string_view::npos) {
            out += MEANT[known];
            return;
        }
        if (name != 'u') wrong("an escape");
        char32_t c = four_digits();
        if (c >= 0xD800 && c < 0xDC00 && source_.substr(at_, 2) == "\\u") {
            at_ += 2;
            const char32_t low = four_digits();
            if (low < 0xDC00 || low > 0xDFFF) wrong("the second half of a surrogate pair");
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        }
        if (c >= 0xD800 && c < 0xE000) wrong("a character, not half of a surrogate pair");
        unicode::append(out, c);
    }

    char32_t four_digits() {
        char32_t c = 0;
        for (int i = 0; i < 4; i++, at_++) {
            const char digit = peek();
            const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                              : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                              : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                             : -1;
            if (value < 0) wrong("four hexadecimal digits");
            c = c << 4 | static_cast<char32_t>(value);
        }
        return c;
    }
};

Document::Document(std::string_view source) {
    if (source.size() >= UINT32_MAX) refuse("the JSON has 4 GB or more");
    Reader(source, *this).read();
}

static const char* name(Kind kind) {
    static constexpr const char* NAMES[] = {"nothing", "false", "true", "a number", "a text", "an array", "an object"};
    return NAMES[static_cast<int>(kind)];
}

[[noreturn]] static void mismatch(const char* what, const char* wanted, Kind found) {
    refuse(std::string(what) + " is " + name(found) + "; expected " + wanted);
}

Kind Value::kind() const { return at_ == MISSING ? Kind::NOTHING : document_->nodes_[at_].kind; }

bool Value::boolean(const char* what) const {
    if (kind() != Kind::TRUE && kind() != Kind::FALSE) mismatch(what, "true or false", kind());
    return kind() == Kind::TRUE;
}

double Value::number(const char* what) const {
    if (kind() != Kind::NUMBER) mismatch(what, "a number", kind());
    return document_->nodes_[at_].number;
}

int32_t Value::integer(const char* what) const {
    const double found = number(what);
    if (found < 0 || found > INT32_MAX || found != std::floor(found))
        refuse(std::string(what) + " is " + std::to_string(found) + "; expected a whole number from 0 on");
    return static_cast<int32_t>(found);
}

std::string_view Value::text(const char* what) const {
    if (kind() != Kind::TEXT) mismatch(what, "a text", kind());
    return document_->nodes_[at_].text;
}

Value Value::member(std::string_view name) const {
    uint32_t found = MISSING;
    if (kind() == Kind::OBJECT)
        for (auto at = begin(); at != end(); ++at) {
            const bool same = (*at).text("a name") == name;
            ++at;
            if (same) found = (*at).at_;
        }
    return {*document_, found};
}

bool Value::flag(std::string_view name, bool otherwise) const {
    const Value found = member(name);
    return found.is_null() ? otherwise : found.boolean(name.data());
}

Value::Iterator Value::begin() const {
    const bool holds = kind() == Kind::ARRAY || kind() == Kind::OBJECT;
    return {*document_, holds ? at_ + 1 : 0};
}

Value::Iterator Value::end() const {
    const bool holds = kind() == Kind::ARRAY || kind() == Kind::OBJECT;
    return {*document_, holds ? document_->nodes_[at_].end : 0};
}

Value::Iterator& Value::Iterator::operator++() {
    at_ = document_->nodes_[at_].end;
    return *this;
}

}  // namespace likewise::json
