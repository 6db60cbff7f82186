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

}  // namespace

bool ctoml_read(const char *bytes, size_t count, void *context, void (*take)(void *, const ctoml_event *),
                uint32_t *line, char *sentence, size_t room) {
    toml::parse_result result = toml::parse(std::string_view(bytes, count));
    if (!result) {
        const toml::parse_error &error = result.error();
        *line = error.source().begin.line;
        if (room > 0) {
            const std::string_view words = error.description();
            const size_t length = std::min(words.size(), room - 1);
            std::memcpy(sentence, words.data(), length);
            sentence[length] = 0;
        }
        return false;
    }
    Walk{context, take}.walk(nullptr, 0, result.table());
    return true;
}
