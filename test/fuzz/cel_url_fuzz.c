/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs: what is read is written as text that reads as the same, and says the same when written
 * again.
 */
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/text/url.h"
#include "test/fuzz/fuzz.h"

struct reading {
    struct ek_cel_url url;
    char *room; /* owned */
    bool good;
};

/* Reads s the way url() does, its fragment apart. */
static void read_url(struct ek_str s, struct reading *ret)
{
    const char *hash = s.len ? memchr(s.p, '#', s.len) : NULL;
    size_t len = hash ? (size_t)(hash - s.p) : s.len, used;
    struct ek_cel_url_fault fault = {0};

    ret->room = ek_xalloc(s.len + 1);
    ret->good = ek_cel_url_parse(s.p, len, false, ret->room, &used, &ret->url, &fault);
    fuzz_require(used <= s.len);
    if (ret->good && hash && len + 1 < s.len)
        ret->good = ek_cel_url_set_fragment(&ret->url, (struct ek_str){hash + 1, s.len - len - 1},
                                            ret->room + used, &fault);
    fuzz_require(ret->good || fault.before);
}

static void check_parts(const struct ek_cel_url *url)
{
    EK_AUTOFREE char *room = ek_xalloc(3 * url->path.len + 1);
    struct ek_str name, port, path = ek_cel_url_escaped_path(url, room);

    for (size_t i = 0; i < path.len; i++)
        fuzz_require((unsigned char)path.p[i] > ' ' && (unsigned char)path.p[i] < 0x7f);
    ek_cel_url_split_host(url->host, &name, &port);
    fuzz_require(name.len + port.len <= url->host.len);
}

/* True of a path of two slashes once unescaped, which Go writes as if a host followed. */
static bool reads_as_host(const struct ek_cel_url *url)
{
    return url->path.len >= 2 && memcmp(url->path.p, "//", 2) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of just its size lets the sanitizer see reading beyond it. */
    EK_AUTOFREE char *copy = ek_xalloc(size + !size);
    struct ek_cel_url_fault fault;
    struct reading first, second;
    size_t used;

    if (size)
        memcpy(copy, data, size);
    read_url((struct ek_str){copy, size}, &first);
    ek_cel_url_parse(copy, size, true, first.room, &used, &second.url, &fault);
    free(first.room);
    read_url((struct ek_str){copy, size}, &first);
    if (first.good) {
        EK_AUTOFREE char *text = ek_xalloc(ek_cel_url_text_max(&first.url) + 1);
        struct ek_str written = {text, ek_cel_url_text(&first.url, text)};

        fuzz_require(written.len <= ek_cel_url_text_max(&first.url));
        check_parts(&first.url);
        read_url(written, &second);
        if (second.good && !reads_as_host(&first.url)) {
            EK_AUTOFREE char *again = ek_xalloc(ek_cel_url_text_max(&second.url) + 1);
            size_t len = ek_cel_url_text(&second.url, again);

            fuzz_require(len == written.len && memcmp(again, text, len) == 0);
        }
        free(second.room);
    }
    free(first.room);
    return 0;
}
