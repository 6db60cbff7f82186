#include "include/toml.h"

// In invalid documents (`[:x]`) toml++ violates its own assertions, or compiler assumptions, before it reports the
// error. Both are disabled; the checks that follow suffice.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Walk {
    void *context;
    void (*take)(void *, const ctoml_event *);

    void walk(const char *key, size_t length, const toml::node &node) const {
        ctoml_event event = {};
        event.key = key;
        event.key_length = length;
        event.line = node.source().begin.line;
        switch (node.type()) {
        case toml::node_type::table: return table(event, *node.as_table());
        case toml::node_type::array: return array(event, *node.as_array());
        case toml::node_type::string: {
            const std::string &text = node.as_string()->get();
            event.kind = CTOML_STRING;
            event.text = text.data();
            event.text_length = text.size();
            break;
        }
        case toml::node_type::integer:
            event.kind = CTOML_INTEGER;
            event.integer = node.as_integer()->get();
            break;
        case toml::node_type::floating_point:
            event.kind = CTOML_FLOAT;
            event.number = node.as_floating_point()->get();
            break;
        case toml::node_type::boolean:
            event.kind = CTOML_BOOLEAN;
            event.flag = node.as_boolean()->get();
            break;
        case toml::node_type::date:
            event.kind = CTOML_DATE;
            set(event, node.as_date()->get());
            break;
        case toml::node_type::time:
            event.kind = CTOML_TIME;
            set(event, node.as_time()->get());
            break;
        case toml::node_type::date_time: {
            const toml::date_time &moment = node.as_date_time()->get();
            event.kind = CTOML_DATE_TIME;
            set(event, moment.date);
            set(event, moment.time);
            event.has_offset = moment.offset.has_value();
            if (moment.offset) event.offset_minutes = moment.offset->minutes;
            break;
        }
        case toml::node_type::none: return;
        }
        take(context, &event);
    }

    static void set(ctoml_event &event, const toml::date &date) {
        event.year = date.year;
        event.month = date.month;
        event.day = date.day;
    }

    static void set(ctoml_event &event, const toml::time &time) {
        event.hour = time.hour;
        event.minute = time.minute;
        event.second = time.second;
    }

    void end(ctoml_event event) const {
        event.kind = CTOML_END;
        take(context, &event);
    }

    void array(ctoml_event event, const toml::array &array) const {
        event.kind = CTOML_ARRAY;
        take(context, &event);
        for (const toml::node &node : array) walk(nullptr, 0, node);
        end(event);
    }

    // toml++ sorts keys alphabetically; errors are reported in the order of lines.
    void table(ctoml_event event, const toml::table &table) const {
        event.kind = CTOML_TABLE;
        take(context, &event);
        std::vector<std::pair<std::string_view, const toml::node *>> entries;
        entries.reserve(table.size());
        for (auto &&[key, node] : table) entries.emplace_back(key.str(), &node);
        std::stable_sort(entries.begin(), entries.end(), [](const auto &left, const auto &right) {
            return left.second->source().begin < right.second->source().begin;
        });
        for (auto &[key, node] : entries) walk(key.data(), key.size(), *node);
        end(event);
    }
};

// The maximum number of dots in the keys around a value: toml++ and `Walk` recurse into each of their tables, and
// toml++ limits only brackets.
constexpr size_t max_dots = 256;

// Returns the position after a string, or the end of its line if it is not closed there.
size_t end_of_string(std::string_view text, size_t start) {
    const char quote = text[start];
    const std::string three(3, quote);
    const bool is_long = text.substr(start, 3) == three;
    size_t i = start + (is_long ? 3 : 1);
    for (; i < text.size(); i++) {
        if (text[i] == '\\' && quote == '"') i++;
        else if (!is_long && text[i] == '\n') return i;
        else if (!is_long && text[i] == quote) return i + 1;
        // Up to two quotation marks before the closing ones belong to the text.
        else if (is_long && text.substr(i, 3) == three) return std::min(text.find_first_not_of(quote, i), i + 5);
    }
    return i;
}

// Returns the line of the first value with more dots; 0 if there is none. Where it reads an invalid document
// differently than toml++, that has found an error before.
uint32_t line_beyond_max_dots(std::string_view text) {
    std::vector<size_t> open;
    size_t dots = 0;
    for (size_t i = 0; i < text.size();) {
        switch (text[i]) {
        case '"':
        case '\'': i = end_of_string(text, i); continue;
        case '#': i = std::min(text.find('\n', i), text.size()); continue;
        case '\n':
            if (open.empty()) dots = 0;
            break;
        case ',': dots = open.empty() ? 0 : open.back(); break;
        case '[':
        case '{': open.push_back(dots); break;
        case ']':
        case '}':
            if (open.empty()) break;
            dots = open.back();
            open.pop_back();
            break;
        case '.':
            if (++dots > max_dots) return 1 + std::count(text.begin(), text.begin() + i, '\n');
            break;
        }
        i++;
    }
    return 0;
}

}  // namespace

bool ctoml_read(const char *bytes, size_t count, void *context, void (*take)(void *, const ctoml_event *),
                uint32_t *line, char *sentence, size_t room) {
    const std::string_view text(bytes, count);
    const auto refuse = [=](uint32_t at, std::string_view words) {
        *line = at;
        if (room == 0) return false;
        const size_t length = std::min(words.size(), room - 1);
        std::memcpy(sentence, words.data(), length);
        sentence[length] = 0;
        return false;
    };
    if (const uint32_t at = line_beyond_max_dots(text)) return refuse(at, "keys are nested too deeply");
    toml::parse_result result = toml::parse(text);
    if (!result) return refuse(result.error().source().begin.line, result.error().description());
    Walk{context, take}.walk(nullptr, 0, result.table());
    return true;
}
