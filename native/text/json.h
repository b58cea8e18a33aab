// A JSON document, parsed completely and strictly (RFC 8259) into a flat list of values, each of which stores its end.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace likewise::json {

enum class Kind : uint8_t { NOTHING, FALSE, TRUE, NUMBER, TEXT, ARRAY, OBJECT };

class Document;

// A value in a document, which must outlive the value. An object's members are alternating keys and values.
class Value {
public:
    Value(const Document& document, uint32_t at) : document_(&document), at_(at) {}
    Kind kind() const;
    bool is_null() const { return kind() == Kind::NOTHING; }
    bool boolean(const char* what) const;
    double number(const char* what) const;
    int32_t integer(const char* what) const;  // 0 or more
    std::string_view text(const char* what) const;
    Value member(std::string_view name) const;  // null if the object lacks it; if a name is repeated, the last one
    bool flag(std::string_view name, bool otherwise) const;
    std::string_view text_of(std::string_view name) const { return member(name).text(name.data()); }

    class Iterator {
    public:
        Iterator(const Document& document, uint32_t at) : document_(&document), at_(at) {}
        Value operator*() const { return {*document_, at_}; }
        Iterator& operator++();
        bool operator!=(const Iterator& other) const { return at_ != other.at_; }

    private:
        const Document* document_;
        uint32_t at_;
    };
    Iterator begin() const;
    Iterator end() const;

private:
    const Document* document_;
    uint32_t at_;
};

class Document {
public:
    explicit Document(std::string_view source);  // throws LW_BAD_DESCRIPTION
    Value root() const { return {*this, 0}; }

private:
    friend class Value;
    friend class Reader;
    struct Node {
        Kind kind;
        uint32_t end;  // the node after this node and its contents
        double number;
        std::string_view text;
    };
    std::vector<Node> nodes_;
    std::deque<std::string> decoded_;  // strings with escapes; all others are views of the source
};

}  // namespace likewise::json
