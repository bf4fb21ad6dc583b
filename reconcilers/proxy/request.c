/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/request.h"
#include "api/base/words.h"

#include <string.h>
#include <strings.h>

#define SEGMENTS_MAX 16 /* the rest is one tail */

/* ---- Octets ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The octet of the escape at s ("%2F"), -1 when it is none. */
static int unescape(const char *s)
{
    int high = s[0] == '%' ? hex(s[1]) : -1;
    int low = high >= 0 ? hex(s[2]) : -1;

    return low >= 0 ? high * 16 + low : -1;
}

static bool refuse(struct ek_proxy_answer *refusal, int code, const char *why)
{
    ek_proxy_answer_set(refusal, code, 0, "the request is refused: %s", why);
    return false;
}

/* ---- The target ---- */

/* What is wrong with the octets of a target, NULL for nothing. */
static const char *octet_fault(const char *target)
{
    if (*target != '/')
        return "its target does not begin with \"/\"";
    for (const char *s = target; *s; s++) {
        if (*s <= 0x20 || *s >= 0x7f)
            return "its target has an octet that is not printable ASCII";
        if (*s == '#')
            return "its target has a fragment";
    }
    return NULL;
}

/* Decodes the path into out (as large as the path); *ret_escaped gets the octets that were encoded:
 * 1 for those, 0 for the rest. NULL or what is wrong. */
static const char *decode(const char *path, size_t len, char *out, char *ret_escaped)
{
    size_t n = 0;

    for (size_t i = 0; i < len; n++) {
        int c = (unsigned char)path[i];
        ret_escaped[n] = c == '%';
        if (c == '\\')
            return "its path has a backslash";
        if (c == '%') {
            c = i + 2 < len ? unescape(path + i) : -1;
            if (c < 0)
                return "its path has a broken percent-encoding";
            if (c < 0x20 || c == 0x7f)
                return "its path has an encoded control character";
        }
        i += ret_escaped[n] ? 3 : 1;
        out[n] = (char)c;
    }
    out[n] = '\0';
    return NULL;
}

/* True if a segment of the decoded path is "." or "..". Slashes and backslashes end a segment,
 * because a server behind may resolve such segments after it decodes the path. */
static bool has_dots(const char *path)
{
    for (const char *s = path; *s;) {
        size_t n = strcspn(s, "/\\");
        if ((n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
            return true;
        s += n + (s[n] != '\0');
    }
    return false;
}

/* What is wrong with the part of the path that decides: n octets, and the slash behind them. */
static const char *deciding_fault(const char *path, const char *escaped, size_t n)
{
    for (size_t i = 1; i <= n && path[i]; i++) {
        if (path[i] == '/' && path[i - 1] == '/')
            return "its path has an empty segment";
        if (escaped[i] && strchr("/\\%", path[i]))
            return "its path has an encoded slash, backslash or percent sign";
    }
    return NULL;
}

/* ---- Segments: requestinfo.go:NewRequestInfo ---- */

struct segments {
    char *at[SEGMENTS_MAX]; /* each NUL-terminated; the last may hold slashes */
    size_t offset[SEGMENTS_MAX];
    size_t n;
};

/* Splits the copy of a path as requestinfo.go:splitPath, without slashes at both ends. */
static void split(char *copy, struct segments *ret)
{
    size_t start = strspn(copy, "/"), end = strlen(copy);

    while (end > start && copy[end - 1] == '/')
        end--;
    copy[end] = '\0';
    ret->n = 0;
    for (char *s = copy + start; *s;) {
        ret->at[ret->n] = s;
        ret->offset[ret->n++] = (size_t)(s - copy);
        char *slash = ret->n < SEGMENTS_MAX ? strchr(s, '/') : NULL;
        if (!slash)
            break;
        *slash = '\0';
        s = slash + 1;
    }
}

static const char *verb_of(const char *method)
{
    static const struct {
        const char *method, *verb;
    } verbs[] = {{"POST", "create"}, {"GET", "get"},     {"HEAD", "get"},
                 {"PUT", "update"},  {"PATCH", "patch"}, {"DELETE", "delete"}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(verbs); i++)
        if (!strcmp(method, verbs[i].method))
            return verbs[i].verb;
    return "";
}

/* A GET or DELETE without a name is about a collection. */
static void collection_verb(struct ek_proxy_request *ret)
{
    char watch[8];

    if (!ret->is_resource || *ret->name)
        return;
    if (!strcmp(ret->verb, "delete"))
        ret->verb = "deletecollection";
    if (strcmp(ret->verb, "get") != 0)
        return;
    /* apimachinery, conversion.go:Convert_Slice_string_To_bool */
    ret->verb = ek_proxy_query_first(ret->query, "watch", watch, sizeof watch) &&
                        strcmp(watch, "0") != 0 && strcasecmp(watch, "false") != 0
                    ? "watch"
                    : "list";
}

/* Reads the segments behind the version, of which there is one at least. */
static const char *resource_of(const char *method, const struct segments *s, size_t i,
                               struct ek_proxy_request *ret)
{
    ret->verb = verb_of(method);
    if (!strcmp(s->at[i], "proxy") || !strcmp(s->at[i], "watch")) {
        if (i + 1 == s->n)
            return "its path has a verb and no resource";
        ret->verb = s->at[i++];
    }
    if (!strcmp(s->at[i], "namespaces") && i + 1 < s->n) {
        ret->namespace = s->at[i + 1];
        if (i + 2 < s->n && strcmp(s->at[i + 2], "status") != 0 &&
            strcmp(s->at[i + 2], "finalize") != 0)
            i += 2;
    }
    ret->resource = s->at[i];
    if (i + 1 < s->n)
        ret->name = s->at[i + 1];
    if (i + 2 < s->n && strcmp(ret->verb, "proxy") != 0)
        ret->subresource = s->at[i + 2];
    return NULL;
}

/* Fills ret from the segments; *ret_decides gets the octets of the path that decide. */
static const char *read_info(const char *method, const struct segments *s, size_t len,
                             struct ek_proxy_request *ret, size_t *ret_decides)
{
    size_t i = 1;

    *ret_decides = len;
    if (s->n < 3)
        return NULL;
    if (strcmp(s->at[0], "api") != 0) {
        if (strcmp(s->at[0], "apis") != 0 || s->n < 4)
            return NULL;
        ret->group = s->at[i++];
    }
    ret->is_resource = true;
    ret->version = s->at[i++];
    const char *fault = resource_of(method, s, i, ret);
    if (fault)
        return fault;
    ret->has_tail = !strcmp(ret->verb, "proxy") || !strcmp(ret->subresource, "proxy");
    const char *last = *ret->subresource ? ret->subresource : *ret->name ? ret->name : NULL;
    for (size_t k = 0; ret->has_tail && last && k < s->n; k++)
        if (s->at[k] == last)
            *ret_decides = s->offset[k] + strlen(last);
    return NULL;
}

static void classify(const char *method, struct ek_proxy_request *ret)
{
    static const char *const running[] = {"exec", "attach", "portforward", "proxy", NULL};

    collection_verb(ret);
    ret->reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");
    ret->runs = ret->has_tail || ek_is_one_of(ret->subresource, running);
    ret->long_running =
        ret->runs || !strcmp(ret->verb, "watch") || !strcmp(ret->subresource, "log");
}

/* Three texts of one allocation: the decoded path, a copy that is split, and the query; behind them
 * the marks of what was escaped, and the method in lower case. */
static char *texts(const char *method, const char *target, size_t len, struct ek_proxy_request *ret,
                   char **ret_path, char **ret_marks)
{
    size_t query_len = target[len] ? strlen(target + len + 1) : 0;
    size_t method_len = strlen(method);
    char *text = ek_alloc(3 * (len + 1) + query_len + 1 + method_len + 1);

    if (!text)
        return NULL;
    *ret_path = text;
    *ret_marks = text + 2 * (len + 1);
    char *query = text + 3 * (len + 1);
    memcpy(query, target + len + (target[len] != '\0'), query_len);
    char *verb = query + query_len + 1;
    for (size_t i = 0; i < method_len; i++)
        verb[i] = (char)(method[i] >= 'A' && method[i] <= 'Z' ? method[i] + 'a' - 'A' : method[i]);
    ret->text = text;
    ret->path = text;
    ret->query = query;
    ret->verb = verb;
    return text + len + 1;
}

bool ek_proxy_request_read(const char *method, const char *target, struct ek_proxy_request *ret,
                           struct ek_proxy_answer *refusal)
{
    char *path, *marks;
    size_t decides;

    *ret = (struct ek_proxy_request){.verb = "",
                                     .path = "",
                                     .query = "",
                                     .group = "",
                                     .version = "",
                                     .resource = "",
                                     .subresource = "",
                                     .namespace = "",
                                     .name = ""};
    if (!strcmp(method, "CONNECT") || !strcmp(method, "TRACE"))
        return refuse(refusal, 405, "its method is CONNECT or TRACE");
    if (strlen(target) > EK_PROXY_TARGET_MAX) {
        ek_proxy_answer_set(refusal, 414, 0,
                            "the request is refused: its URL has more than %zu octets",
                            EK_PROXY_TARGET_MAX);
        return false;
    }
    const char *fault = octet_fault(target);
    if (fault)
        return refuse(refusal, 400, fault);
    size_t len = strcspn(target, "?");
    char *copy = texts(method, target, len, ret, &path, &marks);
    if (!copy) {
        ek_proxy_answer_set(refusal, 503, 1, "out of memory");
        return false;
    }
    fault = decode(target, len, path, marks);
    if (!fault && has_dots(path))
        fault = "its path has a dot segment";
    if (fault)
        return refuse(refusal, 400, fault);
    size_t decoded = strlen(path);
    memcpy(copy, path, decoded + 1);
    struct segments segments;
    split(copy, &segments);
    fault = read_info(method, &segments, decoded, ret, &decides);
    if (!fault)
        fault = deciding_fault(path, marks, decides);
    if (fault)
        return refuse(refusal, 400, fault);
    classify(method, ret);
    return true;
}

void ek_proxy_request_done(struct ek_proxy_request *request)
{
    ek_free(request->text);
    request->text = NULL;
}

/* ---- The query ---- */

/* Decodes len octets of a query into out, cut to size; false for a broken escape. */
static bool query_text(const char *s, size_t len, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int c = s[i] == '+' ? ' ' : (unsigned char)s[i];
        if (c == '%') {
            c = i + 2 < len ? unescape(s + i) : -1;
            i += 2;
        }
        if (c < 0)
            return false;
        if (n + 1 < size)
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return true;
}

bool ek_proxy_query_first(const char *query, const char *name, char *out, size_t size)
{
    char key[64];

    for (const char *s = query; *s;) {
        size_t len = strcspn(s, "&");
        size_t key_len = strcspn(s, "=&");
        bool good = !memchr(s, ';', len) && query_text(s, key_len, key, sizeof key) &&
                    key_len < sizeof key && !strcmp(key, name);
        size_t skip = key_len < len ? key_len + 1 : len;
        if (good && query_text(s + skip, len - skip, out, size))
            return true;
        s += len + (s[len] != '\0');
    }
    out[0] = '\0';
    return false;
}
