/* SPDX-License-Identifier: Apache-2.0 */
#include <re2/re2.h>

#include <memory>
#include <new>

extern "C" {
#include "api/cel/regex.h"
#include "api/err.h"
}

struct ek_cel_regex {
    std::unique_ptr<re2::RE2> re2;
};

struct ek_cel_regex *ek_cel_regex_new(const char *pattern, size_t len, struct ek_err *err)
try {
    re2::RE2::Options options;
    options.set_log_errors(false);
    std::unique_ptr<ek_cel_regex> regex(new ek_cel_regex);
    regex->re2.reset(new re2::RE2(re2::StringPiece(pattern, len), options));
    if (!regex->re2->ok()) {
        ek_err_set(err, EK_E_PARSE, "error parsing regexp: %s", regex->re2->error().c_str());
        return nullptr;
    }
    return regex.release();
} catch (...) {
    ek_err_set(err, EK_E_NOMEM, "out of memory");
    return nullptr;
}

void ek_cel_regex_free(struct ek_cel_regex *regex)
{
    delete regex;
}

bool ek_cel_regex_find(const struct ek_cel_regex *regex, const char *text, size_t len, size_t from,
                       size_t *ret_start, size_t *ret_end)
try {
    re2::StringPiece match;

    if (!regex->re2->Match(re2::StringPiece(text, len), from, len, re2::RE2::UNANCHORED, &match, 1))
        return false;
    *ret_start = static_cast<size_t>(match.data() - text);
    *ret_end = *ret_start + match.size();
    return true;
} catch (...) {
    return false;
}

bool ek_cel_regex_matches(const struct ek_cel_regex *regex, const char *text, size_t len)
try {
    return regex->re2->Match(re2::StringPiece(text, len), 0, len, re2::RE2::UNANCHORED, nullptr, 0);
} catch (...) {
    return false;
}

size_t ek_cel_regex_size(const struct ek_cel_regex *regex)
{
    return sizeof *regex + static_cast<size_t>(regex->re2->ProgramSize()) * 16;
}
