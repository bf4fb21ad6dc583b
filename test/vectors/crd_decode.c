/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of custom resources: cases of writes and reads of an API server. Around the decoder
 * and the validation stands here what else the server does with a request: apiserver 1.36,
 * pkg/endpoints/handlers/{create,update}.go, pkg/registry/rest/{create,update}.go. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/decode/custom.h"
#include "api/decode/gotext.h"
#include "api/obj.h"
#include "api/validation/validate.h"
#include "test/vectors/gojson.h"
#include "test/vectors/vectors.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define TEXT_MAX    ((size_t)4 << 20)
#define NAMESPACE   "default" /* of each request */
#define SUMMARY_MAX 30        /* of a body in an error */

struct request {
    yyjson_val *record, *crd;
    struct ek_custom_version version, stored;
    struct ek_arena *arena;
    yyjson_mut_doc *doc; /* of objects */
    struct ek_buf body;
    bool is_strict; /* or Warn: unknown fields are looked for */
    bool refuses;   /* Strict */
    bool is_status;
    int code;
    const char *error;
};

static bool fail(struct request *r, int code, const char *error)
{
    if (!r->error) {
        r->code = code;
        r->error = error;
    }
    return false;
}

/* ---- The body ---- */

/* handlers/rest.go:summarizeData. */
static const char *summary(struct request *r)
{
    struct ek_str body = {ek_buf_str(&r->body), r->body.len};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    size_t len = body.len < SUMMARY_MAX ? body.len : SUMMARY_MAX;
    if (!body.len)
        return "<empty>";
    if (body.p[0] == '{')
        ek_buf_append(&out, body.p, len);
    else
        for (size_t i = 0; i < len; i++)
            ek_buf_printf(&out, "%02x", (unsigned char)body.p[i]);
    ek_buf_puts(&out, body.len > len ? " ..." : "");
    return ek_arena_strdup(r->arena, ek_buf_str(&out));
}

static bool unrecognized(struct request *r, const char *why)
{
    return fail(r, 400,
                ek_arena_printf(r->arena,
                                "the object provided is unrecognized (must be of type %s): %s (%s)",
                                r->version.kind, why, summary(r)));
}

static bool not_handled(struct request *r, const char *kind, const char *version, const char *why)
{
    return fail(r, 400,
                ek_arena_printf(r->arena, "%s in version \"%s\" cannot be handled as a %s: %s",
                                kind, version, r->version.kind, why));
}

static bool is_folded(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* The text of a member as encoding/json finds it, in any case. */
static const char *find_text(struct request *r, yyjson_val *object, const char *name,
                             const char **ret_error)
{
    const char *text = "";
    yyjson_val *key, *value;
    size_t i, n;

    ek_json_each_member(yyjson_is_obj(object) ? object : NULL, i, n, key, value)
    {
        if (!is_folded(yyjson_get_str(key), name) || yyjson_is_null(value))
            continue;
        if (yyjson_is_str(value))
            text = yyjson_get_str(value);
        else if (!*ret_error)
            *ret_error = ek_arena_printf(
                r->arena, "json: cannot unmarshal %s into Go struct field .%s of type string",
                ek_json_kind(yyjson_get_type(value)), name);
    }
    return text;
}

/* runtime/serializer/json/meta.go:Interpret. */
static bool interpret(struct request *r, yyjson_val *object, const char **ret_kind,
                      const char **ret_version)
{
    const char *error = NULL;
    const char *api_version = find_text(r, object, "apiVersion", &error), *slash;

    *ret_kind = find_text(r, object, "kind", &error);
    if (!yyjson_is_obj(object) && !yyjson_is_null(object))
        error = ek_arena_printf(
            r->arena,
            "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
            "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            ek_json_kind(yyjson_get_type(object)));
    if (error)
        return unrecognized(
            r, ek_arena_printf(r->arena, "couldn't get version/kind; json parse error: %s", error));
    slash = strchr(api_version, '/');
    if (slash && strchr(slash + 1, '/'))
        return unrecognized(
            r, ek_arena_printf(r->arena, "unexpected GroupVersion string: %s", api_version));
    *ret_kind = ek_arena_strdup(r->arena, **ret_kind ? *ret_kind : r->version.kind);
    *ret_version = ek_arena_strdup(r->arena, slash          ? slash + 1
                                             : *api_version ? api_version
                                                            : r->version.version);
    return true;
}

/* The object of the body, owned; NULL when it cannot be read. *ret_kind and *ret_version are what
 * errors call it. */
static yyjson_doc *read_body(struct request *r, const char **ret_kind, const char **ret_version)
{
    const char *number, *why;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    why = gojson_read((struct ek_str){ek_buf_str(&r->body), r->body.len}, &text, r->arena, &number);
    if (why) {
        unrecognized(
            r, ek_arena_printf(r->arena, "couldn't get version/kind; json parse error: %s", why));
        return NULL;
    }
    yyjson_doc *doc = number ? NULL : ek_json_parse(text.data, text.len, NULL);
    yyjson_doc *big =
        number ? yyjson_read_opts(text.data, text.len,
                                  YYJSON_READ_ALLOW_INF_AND_NAN | YYJSON_READ_NUMBER_AS_RAW, NULL,
                                  NULL)
               : NULL;
    if (interpret(r, yyjson_doc_get_root(doc ? doc : big), ret_kind, ret_version) && number)
        not_handled(r, *ret_kind, *ret_version, number);
    yyjson_doc_free(big);
    if (r->error) {
        yyjson_doc_free(doc);
        return NULL;
    }
    return doc;
}

static void take_body(struct request *r)
{
    yyjson_val *raw = yyjson_obj_get(r->record, "raw");

    if (raw)
        ek_buf_append(&r->body, yyjson_get_str(raw), yyjson_get_len(raw));
    else
        gojson_dumps(yyjson_obj_get(r->record, "object"), &r->body);
}

/* ---- Decoding ---- */

static bool decode(struct request *r, const struct ek_custom_version *version,
                   yyjson_mut_val *object, bool from_storage, bool defaults,
                   struct ek_custom_decoding *ret)
{
    const struct ek_custom_options options = {
        .from_storage = from_storage, .defaults = defaults, .arena = r->arena};

    return !ek_custom_decode(version, r->doc, object, &options, ret);
}

static bool is_missing_kind(struct request *r, yyjson_mut_val *object, const char *kind,
                            const char *version)
{
    yyjson_mut_val *member = yyjson_mut_obj_get(object, "kind");
    const char *why;

    if (yyjson_mut_is_str(member) && yyjson_mut_get_len(member))
        return false;
    why = ek_arena_printf(r->arena, "Object 'Kind' is missing in '%s'", ek_buf_str(&r->body));
    if (r->is_strict)
        unrecognized(r, why);
    else
        not_handled(r, kind, version, why);
    return true;
}

/* What a strict decoder tells. */
static bool is_strictly_good(struct request *r, const struct ek_custom_decoding *decoding,
                             const char *kind, const char *version)
{
    EK_AUTO(ek_buf) out;
    yyjson_doc *doc = yyjson_read(ek_buf_str(&r->body), r->body.len, 0);

    ek_buf_init(&out, TEXT_MAX);
    gojson_duplicates(yyjson_doc_get_root(doc), &out);
    yyjson_doc_free(doc);
    for (size_t i = 0; i < decoding->unknown.n; i++)
        ek_buf_printf(&out, "%sunknown field \"%s\"", out.len ? ", " : "",
                      decoding->unknown.list[i]);
    return !out.len || !r->refuses ||
           not_handled(r, kind, version,
                       ek_arena_printf(r->arena, "strict decoding error: %s", ek_buf_str(&out)));
}

static const char *mut_text(yyjson_mut_val *object, const char *name)
{
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(object, name));
    return text ? text : "";
}

/* handlers/create.go, between the decoder and admission. */
static bool is_for_request(struct request *r, yyjson_mut_val *object)
{
    static const char *const wiped[] = {"creationTimestamp", "deletionTimestamp",
                                        "deletionGracePeriodSeconds", "uid", "selfLink"};
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    const char *api_version = mut_text(object, "apiVersion");
    const char *wanted = ek_arena_printf(r->arena, "%s/%s", r->version.group, r->version.version);
    const char *namespace = mut_text(metadata, "namespace");

    if (strcmp(api_version, wanted) != 0)
        return fail(r, 400,
                    ek_arena_printf(r->arena,
                                    "the API version in the data (%s) does not match the expected "
                                    "API version (%s)",
                                    api_version, wanted));
    if (r->version.namespaced && *namespace && strcmp(namespace, NAMESPACE) != 0)
        return fail(r, 400,
                    "the namespace of the provided object does not match the namespace sent on the "
                    "request");
    for (size_t i = 0; i < EK_ARRAY_SIZE(wiped) && !yyjson_obj_get(r->record, "oldObject"); i++)
        yyjson_mut_obj_remove_key(metadata, wiped[i]);
    if (!r->version.namespaced)
        yyjson_mut_obj_remove_key(metadata, "namespace");
    else if (metadata && !*namespace)
        yyjson_mut_obj_add_str(r->doc, metadata, "namespace", NAMESPACE);
    return true;
}

static yyjson_mut_val *read_object(struct request *r)
{
    const char *kind = "", *version = "";
    struct ek_custom_decoding decoding;

    take_body(r);
    yyjson_doc *read = read_body(r, &kind, &version);
    if (!read)
        return NULL;
    yyjson_mut_val *object = yyjson_val_mut_copy(r->doc, yyjson_doc_get_root(read));
    yyjson_doc_free(read);
    if (is_missing_kind(r, object, kind, version) ||
        !decode(r, &r->version, object, false, true, &decoding))
        return NULL;
    /* From here on errors call the object as it says itself. */
    kind = ek_arena_strdup(r->arena, mut_text(object, "kind"));
    version = ek_arena_strdup(r->arena, mut_text(object, "apiVersion"));
    version = strchr(version, '/') ? strchr(version, '/') + 1 : version;
    if (decoding.error)
        not_handled(r, kind, version, decoding.error);
    else if (!r->is_strict || is_strictly_good(r, &decoding, kind, version))
        is_for_request(r, object);
    return r->error ? NULL : object;
}

/* ---- Storage ---- */

/* Numbers as they are after Go has written and read them. */
static void settle_numbers(yyjson_mut_val *value)
{
    yyjson_mut_val *key, *item;
    double d = yyjson_mut_get_num(value);
    size_t i, n;

    if (yyjson_mut_is_real(value) && fabs(d) < 9.2e18 && d == trunc(d))
        yyjson_mut_set_sint(value, (int64_t)d);
    else if (yyjson_mut_is_uint(value) && yyjson_mut_get_uint(value) > INT64_MAX)
        yyjson_mut_set_real(value, d);
    if (yyjson_mut_is_arr(value))
        yyjson_mut_arr_foreach(value, i, n, item)
        {
            settle_numbers(item);
        }
    if (yyjson_mut_is_obj(value))
        yyjson_mut_obj_foreach(value, i, n, key, item)
        {
            (void)key;
            settle_numbers(item);
        }
}

/* Converts to another version, strategy None. */
static bool convert(struct request *r, yyjson_mut_val *object, const struct ek_custom_version *to)
{
    const char *api_version = ek_arena_printf(r->arena, "%s/%s", to->group, to->version);
    struct ek_custom_decoding decoding;

    if (!strcmp(mut_text(object, "apiVersion"), api_version))
        return true;
    yyjson_mut_obj_put(object, yyjson_mut_str(r->doc, "apiVersion"),
                       yyjson_mut_str(r->doc, api_version));
    return decode(r, to, object, false, false, &decoding);
}

/* What is stored of the object, as it is read again. */
static bool from_storage(struct request *r, yyjson_mut_val *object)
{
    struct ek_custom_decoding decoding;

    settle_numbers(object);
    return convert(r, object, &r->stored) && decode(r, &r->stored, object, true, true, &decoding) &&
           convert(r, object, &r->version);
}

/* ---- Writes ---- */

static yyjson_mut_val *take_out(yyjson_mut_val *object, const char *name)
{
    return yyjson_mut_obj_remove_key(object, name);
}

/* What the strategies of custom resources do before the validation. */
static yyjson_mut_val *prepare(struct request *r, yyjson_mut_val *object, yyjson_mut_val *old)
{
    yyjson_mut_val *status;

    if (!r->is_status && r->version.has_status)
        take_out(object, "status");
    if (!old)
        return object;
    if (!r->is_status) {
        status = yyjson_mut_obj_get(old, "status");
        if (r->version.has_status && status)
            yyjson_mut_obj_add_val(r->doc, object, "status",
                                   yyjson_mut_val_mut_copy(r->doc, status));
        return object;
    }
    status = take_out(object, "status");
    object = yyjson_mut_val_mut_copy(r->doc, old);
    take_out(object, "status");
    if (status)
        yyjson_mut_obj_add_val(r->doc, object, "status", status);
    return object;
}

static yyjson_doc *immutable(yyjson_mut_val *value)
{
    return value ? yyjson_mut_val_imut_copy(value, &ek_json_xalc) : NULL;
}

static void validate(struct request *r, yyjson_mut_val *object, yyjson_mut_val *old)
{
    struct ek_validator *validator = NULL;
    struct ek_field_errors errors = {0};
    const char *unknown = NULL;
    EK_AUTO(ek_buf) text;
    struct ek_err err = {0};

    ek_buf_init(&text, TEXT_MAX);
    if (ek_validator_new(r->crd, r->version.version, &validator, &err)) {
        fail(r, 500, ek_arena_strdup(r->arena, err.message));
        return;
    }
    yyjson_doc *new = immutable(object), *before = immutable(old);
    const struct ek_custom_write write = {.object = yyjson_doc_get_root(new),
                                          .old = yyjson_doc_get_root(before),
                                          .is_status = r->is_status};
    ek_validate_write(validator, &write, r->arena, NULL, &errors, &unknown);
    ek_field_errors_join(&errors, &text);
    if (errors.n)
        fail(r, 422,
             ek_arena_printf(r->arena, "%s.%s \"%s\" is invalid: %s", mut_text(object, "kind"),
                             r->version.group,
                             mut_text(yyjson_mut_obj_get(object, "metadata"), "name"),
                             ek_buf_str(&text)));
    else if (unknown)
        fail(r, 500, unknown);
    yyjson_doc_free(before);
    yyjson_doc_free(new);
    ek_validator_free(validator);
}

/* ---- A case ---- */

/* What the recording leaves out. */
static void leave_out(struct request *r, yyjson_mut_val *object)
{
    static const char *const names[] = {"uid", "resourceVersion", "creationTimestamp",
                                        "managedFields", "generation"};
    yyjson_mut_val *metadata = yyjson_mut_obj_get(object, "metadata");
    yyjson_val *sent = yyjson_obj_get(yyjson_obj_get(r->record, "object"), "metadata");
    yyjson_val *old = yyjson_obj_get(yyjson_obj_get(r->record, "oldObject"), "metadata");

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        take_out(metadata, names[i]);
    if (!yyjson_obj_get(sent, "namespace") && !yyjson_obj_get(old, "namespace"))
        take_out(metadata, "namespace");
}

static yyjson_mut_val *answer_request(struct request *r)
{
    yyjson_val *stored = yyjson_obj_get(r->record, "oldObject");
    yyjson_mut_val *old = stored ? yyjson_val_mut_copy(r->doc, stored) : NULL, *object;

    if (old && !from_storage(r, old))
        return NULL;
    if (!strcmp(ek_json_text(r->record, "operation"), "GET"))
        return old;
    object = read_object(r);
    if (!object)
        return NULL;
    object = prepare(r, object, old);
    validate(r, object, old);
    return r->error || !from_storage(r, object) ? NULL : object;
}

static const char *storage_version(yyjson_val *crd)
{
    yyjson_val *entry;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(crd, "spec", "versions", NULL), i, n, entry)
    {
        if (yyjson_is_true(yyjson_obj_get(entry, "storage")))
            return ek_json_text(entry, "name");
    }
    return "";
}

static bool answer(void *state, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    struct request r = {.record = record, .crd = yyjson_obj_get(record, "crd"), .doc = doc};
    const char *strictness = ek_json_text(yyjson_obj_get(record, "query"), "fieldValidation");
    yyjson_mut_val *result = yyjson_mut_obj(doc);

    (void)state;
    if (!ek_custom_version_of(r.crd, ek_json_text(record, "version"), &r.version) ||
        !ek_custom_version_of(r.crd, storage_version(r.crd), &r.stored))
        return false;
    r.refuses = !strcmp(strictness, "Strict");
    r.is_strict = r.refuses || !strcmp(strictness, "Warn");
    r.is_status = !strcmp(ek_json_text(record, "subresource"), "status");
    r.arena = ek_arena_new(ARENA_LIMIT);
    ek_buf_init(&r.body, TEXT_MAX);
    yyjson_mut_val *seen = answer_request(&r);
    if (r.error) {
        yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, result, "error");
        yyjson_mut_obj_add_int(doc, error, "code", r.code);
        yyjson_mut_obj_add_str(doc, error, "reason",
                               r.code == 422   ? "Invalid"
                               : r.code == 400 ? "BadRequest"
                                               : "InternalError");
        yyjson_mut_obj_add_strcpy(doc, error, "message", r.error);
    } else if (seen) {
        leave_out(&r, seen);
        /* Numbers as Go prints them. */
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, TEXT_MAX);
        yyjson_doc *copy = yyjson_mut_val_imut_copy(seen, NULL);
        ek_go_value(yyjson_doc_get_root(copy), &text);
        yyjson_mut_obj_add_val(doc, result, "seen",
                               yyjson_mut_rawncpy(doc, ek_buf_str(&text), text.len));
        yyjson_doc_free(copy);
    }
    yyjson_mut_obj_add_val(doc, answer, "result", result);
    ek_buf_done(&r.body);
    ek_arena_free(r.arena);
    return true;
}

const struct ek_vectors_subject ek_vectors_crd_decode = {
    .name = "crd-decode", .options = "", .answer = answer};
