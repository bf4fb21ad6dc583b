/* SPDX-License-Identifier: Apache-2.0 */
#include <re2/re2.h>

#include <memory>
#include <new>

extern "C" {
#include "api/base/err.h"
#include "api/cel/regex/regex.h"
#include "api/cel/regex/syntax.h"
}

struct ek_cel_regex {
    std::unique_ptr<re2::RE2> re2;
    /* With \B, RE2 takes the place between two octets of one character for a match of nothing. */
    bool splits;
};

namespace
{

/*
 * What RE2 may hold for an expression: its program, and the states it remembers of matching with
 * it. Nearly all do with little; only one whose program needs more gets more.
 */
constexpr size_t kMemoryUsual = size_t{4} << 20;
constexpr size_t kMemoryMost = size_t{24} << 20;

/* What an instruction and its mirror image for matching backwards take. */
constexpr size_t kInstruction = 16;

/* Programs up to this size are not counted against a budget. */
constexpr size_t kSmall = 1024;

class Translation
{
  public:
    explicit Translation(size_t len)
    {
        ek_buf_init(&buf_, ek_cel_regex_translated_max(len));
    }
    ~Translation()
    {
        ek_buf_done(&buf_);
    }
    Translation(const Translation &) = delete;
    Translation &operator=(const Translation &) = delete;

    struct ek_buf *buf()
    {
        return &buf_;
    }
    re2::StringPiece text() const
    {
        return re2::StringPiece(ek_buf_str(&buf_), buf_.len);
    }

  private:
    struct ek_buf buf_;
};

std::unique_ptr<re2::RE2> compile(const re2::StringPiece &text, size_t most)
{
    re2::RE2::Options options;
    std::unique_ptr<re2::RE2> re2;

    options.set_log_errors(false);
    for (size_t memory : {kMemoryUsual, most}) {
        options.set_max_mem(static_cast<int64_t>(memory));
        re2 = std::make_unique<re2::RE2>(text, options);
        if (re2->error_code() != re2::RE2::ErrorPatternTooLarge || memory >= most)
            break;
    }
    return re2;
}

/* Takes off budget what the expression took, or what was tried in vain. */
void charge(const re2::RE2 &re2, size_t most, size_t *budget)
{
    size_t size = most;

    if (re2.ok())
        size = static_cast<size_t>(re2.ProgramSize()) * kInstruction;
    else if (re2.error_code() != re2::RE2::ErrorPatternTooLarge)
        size = 0;
    if (size > kSmall)
        *budget -= size < *budget ? size : *budget;
}

int fault_of(const re2::RE2 &re2, const char *pattern, size_t len, struct ek_err *err)
{
    const std::string &what = re2.error_arg();

    switch (re2.error_code()) {
    case re2::RE2::NoError:
        return 0;
    case re2::RE2::ErrorPatternTooLarge:
        return ek_cel_regex_fault(err, EK_E_LIMIT, "expression too large", pattern, len);
    case re2::RE2::ErrorBadCharRange: /* a script younger than it */
        return ek_cel_regex_fault(err, EK_E_PARSE, "invalid character class range", what.data(),
                                  what.size());
    default:
        return ek_cel_regex_fault(err, EK_E_PARSE, re2.error().c_str(), what.data(), what.size());
    }
}

} // namespace

struct ek_cel_regex *ek_cel_regex_new_within(const char *pattern, size_t len, size_t *budget,
                                             struct ek_err *err)
try {
    size_t most = *budget < kMemoryMost ? *budget : kMemoryMost;
    Translation translation(len);

    if (ek_cel_regex_translate(pattern, len, translation.buf(), err) < 0)
        return nullptr;
    if (*budget == 0) {
        ek_cel_regex_fault(err, EK_E_LIMIT, "expression too large", pattern, len);
        return nullptr;
    }
    auto regex = std::make_unique<ek_cel_regex>();
    regex->re2 = compile(translation.text(), most > kMemoryUsual ? most : kMemoryUsual);
    charge(*regex->re2, most, budget);
    regex->splits = regex->re2->pattern().find("\\B") != std::string::npos;
    if (fault_of(*regex->re2, pattern, len, err) < 0)
        return nullptr;
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

    do {
        if (!regex->re2->Match(re2::StringPiece(text, len), from, len, re2::RE2::UNANCHORED, &match,
                               1))
            return false;
        *ret_start = static_cast<size_t>(match.data() - text);
        *ret_end = *ret_start + match.size();
        from = *ret_start + 1;
    } while (regex->splits && *ret_start < len &&
             (static_cast<unsigned char>(text[*ret_start]) & 0xc0) == 0x80);
    return true;
} catch (...) {
    return false;
}

bool ek_cel_regex_matches(const struct ek_cel_regex *regex, const char *text, size_t len)
try {
    size_t start, end;

    if (regex->splits)
        return ek_cel_regex_find(regex, text, len, 0, &start, &end);
    return regex->re2->Match(re2::StringPiece(text, len), 0, len, re2::RE2::UNANCHORED, nullptr, 0);
} catch (...) {
    return false;
}

size_t ek_cel_regex_size(const struct ek_cel_regex *regex)
{
    return sizeof *regex + sizeof *regex->re2 + regex->re2->pattern().size() +
           static_cast<size_t>(regex->re2->ProgramSize()) * kInstruction;
}
