/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/list_reader.h"

#include <string.h>

#include "informers/cache/decode-internal.h"

#define ITEM_MAX   ((size_t)16 << 20) /* etcd refuses objects far smaller than this */
#define ITEM_LEVEL 2                  /* of {"items": [...]} */
#define CAP_MIN    16
#define MISSES_MAX 8 /* the last item of a list is always one */

void ek_list_reader_begin(struct ek_list_reader *reader, const struct ek_decode_type *type,
                          size_t max)
{
    ek_list_reader_done(reader);
    reader->type = *type;
    reader->max = max;
    ek_buf_init(&reader->envelope, max);
    ek_framer_init(&reader->framer, ITEM_MAX);
}

void ek_list_reader_done(struct ek_list_reader *reader)
{
    ek_buf_done(&reader->envelope);
    ek_framer_done(&reader->framer);
    ek_json_scratch_done(&reader->scratch);
    ek_list_page_done(&reader->page);
    *reader = (struct ek_list_reader){0};
}

/* ---- one item ---- */

static int no_memory(const struct ek_list_reader *reader, struct ek_err *err)
{
    return ek_err_set(err, EK_E_NOMEM, "no memory for a list of %s", reader->type.kind);
}

/* Appends one object, whose reference is taken. */
static int append(struct ek_list_reader *reader, struct ek_obj *obj, struct ek_err *err)
{
    struct ek_list_page *page = &reader->page;

    if (page->n == reader->cap) {
        size_t cap = reader->cap ? reader->cap * 2 : CAP_MIN;
        struct ek_obj **items = ek_realloc(page->items, cap * sizeof(struct ek_obj *));
        if (!items) {
            ek_obj_unref(obj);
            return no_memory(reader, err);
        }
        page->items = items;
        reader->cap = cap;
    }
    page->items[page->n++] = obj;
    return 0;
}

static int take_value(struct ek_list_reader *reader, yyjson_val *value, struct ek_err *err)
{
    struct ek_err why = {0};

    if (ek_decode_is_other_kind__(value, &reader->type))
        return ek_err_set(err, EK_E_UNSUPPORTED, "requested a list of %s, got a \"%.60s\"",
                          reader->type.kind, ek_json_str(value, "kind", NULL));
    struct ek_obj *obj = ek_decode_item__(value, &reader->type, &why);
    if (obj)
        return append(reader, obj, err);
    if (err)
        *err = why;
    return why.code;
}

/* Remembers what separates the first item from the next one: its end, a comma, and all up to the
 * end of the first member's name. */
static void learn(struct ek_list_reader *reader, struct ek_str item)
{
    const char *name = memchr(item.p, '"', item.len);
    const char *end = name ? memchr(name + 1, '"', item.len - (size_t)(name + 1 - item.p)) : NULL;
    size_t size = end ? (size_t)(end + 1 - item.p) : 0;

    if (!size || size + 2 > sizeof reader->separator)
        return;
    memcpy(reader->separator, "},", 2);
    memcpy(reader->separator + 2, item.p, size);
    reader->separator_size = size + 2;
}

static void note_item(struct ek_list_reader *reader, struct ek_str item)
{
    if (reader->n_items++ == 0)
        learn(reader, item);
    reader->comma = false;
    reader->last_size = item.len;
}

/* ---- items ---- */

static int unexpected(const struct ek_list_reader *reader, struct ek_err *err)
{
    return ek_err_set(err, EK_E_PARSE, "malformed list of %s: byte 0x%02x between items",
                      reader->type.kind, (unsigned char)*reader->framer.chunk.p);
}

/* Reads what may stand between items. Returns 1 at the start of one, 0 when the piece is used up
 * or the array has ended, or an error. */
static int between_items(struct ek_list_reader *reader, struct ek_err *err)
{
    for (;;) {
        ek_framer_skip_blanks(&reader->framer);
        if (!reader->framer.chunk.len)
            return 0;
        char c = *reader->framer.chunk.p;
        bool first = !reader->n_items;
        if (c == ']' && !reader->comma) {
            reader->in_items = false;
            return 0;
        }
        if (c != ',')
            return first || reader->comma ? 1 : unexpected(reader, err);
        if (first || reader->comma)
            return unexpected(reader, err);
        reader->comma = true;
        ek_framer_skip(&reader->framer, 1);
    }
}

/* Where the item that text begins with may end; NULL: not known. Items of a kind often have the
 * size of the one before, which is looked at first. */
static const char *guess_end(const struct ek_list_reader *reader, struct ek_str text)
{
    size_t size = reader->separator_size, last = reader->last_size;

    if (!size)
        return NULL;
    if (last && text.len >= last - 1 + size && !memcmp(text.p + last - 1, reader->separator, size))
        return text.p + last - 1;
    return memmem(text.p, text.len, reader->separator, size);
}

/* Takes an item whose end is guessed. False when the guess was wrong, or none was possible. */
static bool guess_item(struct ek_list_reader *reader)
{
    struct ek_str rest = reader->framer.chunk;
    const char *end = guess_end(reader, rest);

    if (!end)
        return false;
    struct ek_str item = {rest.p, (size_t)(end + 1 - rest.p)};
    yyjson_doc *doc = ek_json_parse_scratch(&reader->scratch, item.p, item.len, NULL);
    if (!doc)
        return false;
    bool took = !take_value(reader, yyjson_doc_get_root(doc), NULL);
    yyjson_doc_free(doc);
    if (!took)
        return false; /* the way without guesses reports why */
    note_item(reader, item);
    ek_framer_skip(&reader->framer, item.len);
    return true;
}

/* Takes an item whose end the framer finds. Returns 1, 0 when the item goes on behind this piece,
 * or an error. */
static int frame_item(struct ek_list_reader *reader, struct ek_err *err)
{
    bool begun = reader->framer.frame_size > 0;
    struct ek_str item;
    struct ek_err why = {0};
    int rc = ek_framer_next(&reader->framer, &item, err);

    if (rc <= 0)
        return rc;
    if (!begun && reader->separator_size && ++reader->misses > MISSES_MAX)
        reader->separator_size = 0;
    yyjson_doc *doc = ek_json_parse_scratch(&reader->scratch, item.p, item.len, &why);
    rc = doc ? take_value(reader, yyjson_doc_get_root(doc), &why) : why.code;
    yyjson_doc_free(doc);
    if (rc) {
        ek_err_prefix(&why, "item %zu of the list", reader->n_items);
        if (err)
            *err = why;
        return rc;
    }
    note_item(reader, item);
    return 1;
}

/* Takes items until the piece is used up or the array has ended. */
static int read_items(struct ek_list_reader *reader, struct ek_err *err)
{
    int rc = 1;

    while (rc == 1) {
        bool begun = reader->framer.frame_size > 0;
        rc = begun ? 1 : between_items(reader, err);
        if (rc == 1 && (begun || !guess_item(reader)))
            rc = frame_item(reader, err);
    }
    return rc;
}

/* ---- the envelope ---- */

static size_t before_blanks(const struct ek_buf *text, size_t end)
{
    while (end > 0 && strchr(" \t\r\n", text->data[end - 1]))
        end--;
    return end;
}

/* True when the text so far ends with the name of a member that is "items", and its colon. */
static bool behind_items(const struct ek_buf *text)
{
    static const char name[] = "\"items\"";
    size_t size = sizeof name - 1, end = before_blanks(text, text->len);

    if (!end || text->data[end - 1] != ':')
        return false;
    end = before_blanks(text, end - 1);
    if (end < size || memcmp(text->data + end - size, name, size) != 0)
        return false;
    end = before_blanks(text, end - size);
    return end > 0 && (text->data[end - 1] == '{' || text->data[end - 1] == ',');
}

/* Looks at one byte of the envelope. True when it opens the array of items. */
static bool note_byte(struct ek_list_reader *reader, char c)
{
    if (reader->in_string) {
        if (reader->escaped)
            reader->escaped = false;
        else if (c == '\\')
            reader->escaped = true;
        else if (c == '"')
            reader->in_string = false;
        return false;
    }
    if (c == '"') {
        reader->in_string = true;
    } else if (c == '[' && reader->depth == 1 && behind_items(&reader->envelope)) {
        return true;
    } else if (c == '{' || c == '[') {
        reader->depth++;
    } else if ((c == '}' || c == ']') && reader->depth > 0) {
        reader->depth--;
    }
    return false;
}

/* A second member "items" takes the place of the first. */
static void open_items(struct ek_list_reader *reader)
{
    ek_list_page_done(&reader->page);
    reader->cap = 0;
    reader->n_items = 0;
    reader->comma = false;
    reader->in_items = reader->streamed = true;
}

/* Copies bytes to the envelope, up to the end of the piece or the start of items. */
static int read_envelope(struct ek_list_reader *reader, struct ek_err *err)
{
    while (!reader->in_items && reader->framer.chunk.len) {
        char c = *reader->framer.chunk.p;
        bool opens = note_byte(reader, c);
        /* The closing bracket is copied when it comes, and no depth belongs to it. */
        if (ek_buf_append(&reader->envelope, &c, 1))
            return no_memory(reader, err);
        if (opens) {
            open_items(reader);
            reader->depth++;
        }
        ek_framer_skip(&reader->framer, 1);
    }
    return 0;
}

int ek_list_reader_push(struct ek_list_reader *reader, const char *data, size_t len,
                        struct ek_err *err)
{
    int rc = 0;

    if (len > reader->max - reader->taken)
        return ek_err_set(err, EK_E_LIMIT, "the list of %s is larger than %zu bytes",
                          reader->type.kind, reader->max);
    reader->taken += len;
    ek_framer_push(&reader->framer, data, len);
    while (!rc && reader->framer.chunk.len)
        rc = reader->in_items ? read_items(reader, err) : read_envelope(reader, err);
    return rc;
}

/* ---- the end ---- */

static int check_list(yyjson_val *root, const struct ek_decode_type *type, struct ek_err *err)
{
    const char *kind = ek_json_text(root, "kind");
    yyjson_val *items = yyjson_obj_get(root, "items");
    size_t len = strlen(kind);

    if (!strcmp(kind, "Table"))
        return ek_err_set(err, EK_E_UNSUPPORTED, "requested a list of %s, got a Table", type->kind);
    if (len < 4 || strcmp(kind + len - 4, "List") != 0)
        return ek_err_set(err, EK_E_PARSE, "requested a list of %s, got kind \"%.60s\"", type->kind,
                          kind);
    if (items && !yyjson_is_arr(items) && !yyjson_is_null(items))
        return ek_err_set(err, EK_E_PARSE, "malformed %.60s: items is not an array", kind);
    return 0;
}

static char *dup_metadata(yyjson_val *root, const char *name)
{
    return ek_xstrdup(ek_json_text(yyjson_obj_get(root, "metadata"), name));
}

/* Reads what is left in the envelope. */
static int finish(struct ek_list_reader *reader, yyjson_val *root, struct ek_err *err)
{
    const struct ek_decode_type *type = &reader->type;
    struct ek_list_page *page = &reader->page;
    size_t i, n;
    yyjson_val *item;
    int rc = check_list(root, type, err);

    if (rc)
        return rc;
    page->resource_version = dup_metadata(root, "resourceVersion");
    page->next = dup_metadata(root, "continue");
    if (strlen(page->next) > EK_CONTINUE_MAX)
        return ek_err_set(err, EK_E_LIMIT, "malformed list of %s: a continue token of %zu bytes",
                          type->kind, strlen(page->next));
    rc = ek_decode_check_version__(page->resource_version, type, err);
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), i, n, item)
    {
        if (!rc && !reader->streamed)
            rc = take_value(reader, item, err);
    }
    return rc;
}

int ek_list_reader_end(struct ek_list_reader *reader, struct ek_list_page *ret_page,
                       struct ek_err *err)
{
    struct ek_err why = {0};
    yyjson_doc *doc = NULL;
    int rc = 0;

    if (reader->in_items)
        rc = ek_err_set(&why, EK_E_PARSE, "malformed list of %s: the text ends within the items",
                        reader->type.kind);
    else if (!(doc = ek_json_parse_envelope(reader->envelope.data, reader->envelope.len, ITEM_LEVEL,
                                            &why)))
        rc = why.code;
    else
        rc = finish(reader, yyjson_doc_get_root(doc), &why);
    yyjson_doc_free(doc);
    if (rc && err)
        *err = why;
    if (!rc) {
        *ret_page = reader->page;
        reader->page = (struct ek_list_page){0};
    }
    ek_list_reader_done(reader);
    return rc;
}
