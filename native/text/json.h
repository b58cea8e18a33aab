// A JSON document, read whole and strictly (RFC 8259): values stand one behind the other, each knows where it ends.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace likewise::json {

enum class Kind : uint8_t { NOTHING, FALSE, TRUE, NUMBER, TEXT, ARRAY, OBJECT };

class Document;

// A value of a document, which must outlive it. An object's members are keys and values in turn.
class Value {
public:
    Value(const Document& document, uint32_t at) : document_(&document), at_(at) {}
    Kind kind() const;
    bool is_null() const { return kind() == Kind::NOTHING; }
    bool boolean(const char* what) const;
    double number(const char* what) const;
    int32_t integer(const char* what) const;  // from 0 on
    std::string_view text(const char* what) const;
    Value member(std::string_view name) const;  // null if an object lacks it; the last one if a name is repeated
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
        uint32_t end;  // the node after this one and its content
        double number;
        std::string_view text;
    };
    std::vector<Node> nodes_;
    std::deque<std::string> decoded_;  // of texts with escapes; the others are views of the source
};

}  // namespace likewise::json
