/* SPDX-License-Identifier: Apache-2.0 */
#include "api/yaml_place.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "api/base/arena.h"
#include "api/base/ascii.h"

#define NODES_MAX ((size_t)2 << 20)
#define ARENA_MAX ((size_t)1 << 30)

/* A value; a container has children in the order of the text. Positions in the list of nodes, where
 * 0 is the document itself and therefore stands for none. */
struct node {
    const char *name; /* of a member; NULL for an item, and for a name that is no scalar */
    size_t len, line;
    size_t start, octets; /* of a scalar in the text */
    size_t parent, first, last, next;
    size_t seen, seen_index; /* the child that was found last; 0 without */
    bool is_map, is_scalar;
    bool is_key;   /* a container that is the name of a member */
    bool has_name; /* the name of the next member was read: */
    const char *next_name;
    size_t next_len, next_line;
};

/* A position in the text. The parser counts characters. */
struct position {
    size_t characters, octets, line;
};

struct ek_yaml_places {
    struct ek_arena *arena;
    struct node *nodes;
    size_t n, max;
    const char *text; /* NULL for UTF-16; until the index is made */
    size_t len;
    struct position at;
    bool has_octets; /* false for UTF-16 */
    bool is_whole;   /* the document was read to its end */
    bool has_alias;
};

/* Advances to a character, never back, because events are in the order of the text. Returns the
 * octet there. */
static size_t advance(struct ek_yaml_places *p, const yaml_mark_t *mark)
{
    struct position *at = &p->at;

    if (!p->text)
        at->line = mark->line;
    while (p->text && at->characters < mark->index && at->octets < p->len) {
        unsigned char c = (unsigned char)p->text[at->octets];
        bool cr_lf = c == '\r' && at->octets + 1 < p->len && p->text[at->octets + 1] == '\n';
        at->line += (c == '\n' || c == '\r') && !cr_lf;
        at->octets += c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        at->characters++;
    }
    return at->octets;
}

/* Appends a child of parent. Returns its position, or 0 at the limit. */
static size_t add(struct ek_yaml_places *p, size_t parent, struct node node)
{
    if (p->n == NODES_MAX)
        return 0;
    if (p->n == p->max) {
        p->max = p->max ? p->max * 2 : 256;
        p->nodes = ek_xrealloc(p->nodes, p->max, sizeof *p->nodes);
    }
    size_t ret = p->n++;
    node.parent = parent;
    p->nodes[ret] = node;
    if (!ret)
        return 0;
    struct node *up = &p->nodes[parent];
    if (up->last)
        p->nodes[up->last].next = ret;
    else
        up->first = ret;
    up->last = ret;
    return ret;
}

static bool is_start(const yaml_event_t *event)
{
    return event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
}

static bool is_end(const yaml_event_t *event)
{
    return event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
}

static void set_name(struct node *map, const char *name, size_t len, size_t line)
{
    map->has_name = true;
    map->next_name = name;
    map->next_len = len;
    map->next_line = line;
}

/* Takes a value that starts at the event into the container *at, which becomes the value when that
 * is a container. False at the limit. */
static bool take_value(struct ek_yaml_places *p, size_t *at, const yaml_event_t *event)
{
    struct node *up = &p->nodes[*at];
    struct node value = {.is_map = event->type == YAML_MAPPING_START_EVENT,
                         .is_scalar = event->type == YAML_SCALAR_EVENT};

    value.start = advance(p, &event->start_mark);
    value.line = p->at.line + 1;
    if (value.is_scalar)
        value.octets = advance(p, &event->end_mark) - value.start;
    if (up->is_map && !up->has_name) {
        if (event->type == YAML_SCALAR_EVENT) {
            size_t len = event->data.scalar.length;
            char *name = ek_arena_alloc(p->arena, len + 1);
            memcpy(name, event->data.scalar.value, len);
            set_name(up, name, len, value.line);
            return !ek_arena_exhausted(p->arena);
        }
        if (!is_start(event)) {
            set_name(up, NULL, 0, value.line);
            return true;
        }
        value.is_key = true;
    } else if (up->is_map) {
        value.name = up->next_name;
        value.len = up->next_len;
        value.line = up->next_line;
        up->has_name = false;
    }
    size_t node = add(p, *at, value);
    if (node && is_start(event))
        *at = node;
    return node != 0;
}

/* Takes one event of the first document; false at the end. */
static bool take(struct ek_yaml_places *p, size_t *at, const yaml_event_t *event)
{
    if (is_end(event)) {
        const struct node *ended = &p->nodes[*at];
        *at = ended->parent;
        if (ended->is_key)
            set_name(&p->nodes[*at], NULL, 0, ended->line);
        return true;
    }
    p->has_alias |= event->type == YAML_ALIAS_EVENT;
    p->is_whole |= event->type == YAML_DOCUMENT_END_EVENT;
    if (is_start(event) || event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT)
        return take_value(p, at, event);
    return event->type == YAML_STREAM_START_EVENT || event->type == YAML_DOCUMENT_START_EVENT;
}

/* Where the parser begins to count: behind a byte order mark. */
static void open_text(struct ek_yaml_places *p, const char *text, size_t len)
{
    bool utf16 = len >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));

    p->text = utf16 ? NULL : text;
    p->has_octets = !utf16;
    p->len = len;
    p->at.octets = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

struct ek_yaml_places *ek_yaml_places_new(const char *text, size_t len)
{
    struct ek_yaml_places *p = ek_xalloc(sizeof *p);
    yaml_parser_t parser;
    yaml_event_t event;
    bool more = true;
    size_t at = 0;

    p->arena = ek_arena_new(ARENA_MAX);
    open_text(p, text, len);
    add(p, 0, (struct node){.line = 1});
    if (!yaml_parser_initialize(&parser))
        return p;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    while (more && yaml_parser_parse(&parser, &event)) {
        more = take(p, &at, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    p->text = NULL;
    return p;
}

void ek_yaml_places_free(struct ek_yaml_places *places)
{
    if (!places)
        return;
    ek_arena_free(places->arena);
    ek_free(places->nodes);
    ek_free(places);
}

/* ---- Paths ---- */

/* Takes the first part off a path. */
static const char *take_part(const char **path, size_t *ret_len, bool *ret_bracket)
{
    const char *p = *path;

    p += *p == '.';
    *ret_bracket = *p == '[';
    p += *ret_bracket;
    *ret_len = strcspn(p, *ret_bracket ? "]" : ".[");
    *path = p + *ret_len + (*ret_bracket && p[*ret_len]);
    return p;
}

static bool is_named(const struct node *node, const char *name, size_t len)
{
    return node->name && node->len == len && !memcmp(node->name, name, len);
}

static size_t find_item(struct ek_yaml_places *p, struct node *up, size_t index)
{
    bool on = up->seen && up->seen_index <= index;
    size_t i = on ? up->seen_index : 0, child = on ? up->seen : up->first;

    for (; child && i < index; i++)
        child = p->nodes[child].next;
    if (child) {
        up->seen = child;
        up->seen_index = index;
    }
    return child;
}

/* Looks from the child that was found last to the end, then from the first child. */
static size_t find_member(struct ek_yaml_places *p, struct node *up, const char *name, size_t len)
{
    size_t child = up->seen;

    while (child && !is_named(&p->nodes[child], name, len))
        child = p->nodes[child].next;
    if (!child)
        for (child = up->first; child != up->seen; child = p->nodes[child].next)
            if (is_named(&p->nodes[child], name, len))
                break;
    if (!child || !is_named(&p->nodes[child], name, len))
        return 0;
    return up->seen = child;
}

/* The child that a part names; 0 without. */
static size_t find(struct ek_yaml_places *p, size_t at, const char *part, size_t len, bool bracket)
{
    struct node *up = &p->nodes[at];

    if (up->is_map)
        return find_member(p, up, part, len);
    return bracket && len && ek_is_digit(*part) ? find_item(p, up, strtoul(part, NULL, 10)) : 0;
}

/* Follows a path as far as possible; *ret_rest is what is left. The node; 0 without any. */
static size_t follow(struct ek_yaml_places *p, const char *path, const char **ret_rest)
{
    size_t at = p->nodes[0].first;

    *ret_rest = path;
    while (at && *path) {
        size_t len;
        bool bracket;
        const char *part = take_part(&path, &len, &bracket);
        size_t next = find(p, at, part, len, bracket);
        if (!next)
            break;
        at = next;
        *ret_rest = path;
    }
    return at;
}

size_t ek_yaml_line(struct ek_yaml_places *places, const char *path)
{
    const char *rest;
    size_t at = follow(places, path, &rest);

    return at ? places->nodes[at].line : 1;
}

bool ek_yaml_octets(struct ek_yaml_places *places, const char *path, size_t *ret_start,
                    size_t *ret_len)
{
    const char *rest;
    size_t at = follow(places, path, &rest), same = 0;
    const struct node *node = &places->nodes[at];

    if (!at || *rest || !node->is_scalar || !places->has_octets || !places->is_whole ||
        places->has_alias)
        return false;
    for (size_t i = places->nodes[node->parent].first; i && node->name; i = places->nodes[i].next)
        same += is_named(&places->nodes[i], node->name, node->len);
    if (same > 1)
        return false;
    *ret_start = node->start;
    *ret_len = node->octets;
    return true;
}
