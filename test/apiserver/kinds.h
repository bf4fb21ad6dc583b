/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds that the test API server knows: a table of built-in ones and those that
 * CustomResourceDefinitions add while it runs.
 *
 * A kind is one group, version and resource. Versions of one resource share a storage (a number of
 * the mvcc store): what is stored carries no apiVersion, so that any version can be shown. To serve
 * one more built-in kind, add a row to kinds_table.c. Not thread safe.
 */
#ifndef TEST_APISERVER_KINDS_H
#define TEST_APISERVER_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/err.h"
#include "test/apiserver/fieldset.h"

enum ek_kind_flag {
    EK_KIND_NAMESPACED = 1 << 0,
    EK_KIND_STATUS = 1 << 1,      /* has a status subresource */
    EK_KIND_GENERATION = 1 << 2,  /* counts changes of its spec */
    EK_KIND_REVIEW = 1 << 3,      /* create only, answers at once, never stored */
    EK_KIND_KEEP_STATUS = 1 << 4, /* a create may bring its status */
    EK_KIND_PATH_NAME = 1 << 5,   /* any path segment is a name (RBAC, candidates) */
    EK_KIND_OFF = 1 << 6,         /* served only where a peer switches it on */
    EK_KIND_EVENTS_V1 = 1 << 7,   /* shown in the shape of events.k8s.io */
    EK_KIND_CUSTOM = 1 << 8,      /* comes from a CustomResourceDefinition */
};

/* A column of a table. path is a JSONPath as in additionalPrinterColumns, or "@name" for one of the
 * renderers of table.c. */
struct ek_column {
    const char *name, *type, *path;
    int priority; /* 0: always shown */
};

struct ek_kind {
    const char *group, *version, *kind, *plural, *singular;
    const char *short_names, *categories; /* separated by blanks, "" for none */
    unsigned flags;                       /* EK_KIND_* */
    int since, until;                     /* first and last minor that serves it; 0: no bound */
    const char *subresources;             /* beyond status, separated by blanks */
    const char *empty;               /* members of an empty object, for bookmarks: "\"spec\":{}" */
    const struct ek_column *columns; /* terminated by a NULL name; NULL: name and age */
    int storage;
    struct ek_shapes shapes;
    /* Of custom kinds only. */
    yyjson_doc *definition; /* owned by the row that owns_definition */
    bool owns_definition;
    struct ek_column *own_columns; /* owned */
    char *own_texts;               /* owned: short names and categories */
    bool gone;                     /* its definition was deleted */
};

struct ek_kinds {
    struct ek_kind **items; /* owned, in the order of discovery */
    size_t n;
    unsigned long changes; /* counts additions and removals: a version of the table */
};

struct ek_mvcc;

/* Fills kinds with the built-in rows, giving each resource a storage. */
void ek_kinds_init(struct ek_kinds *kinds, struct ek_mvcc *store);
void ek_kinds_done(struct ek_kinds *kinds);

/* The kind for a resource name, NULL when there is none. */
const struct ek_kind *ek_kinds_find(const struct ek_kinds *kinds, const char *group,
                                    const char *version, const char *plural);

/*
 * Adds, replaces or (served versions that vanished) removes the kinds of a
 * CustomResourceDefinition. EK_E_INVAL when it lacks what it needs.
 */
int ek_kinds_define(struct ek_kinds *kinds, struct ek_mvcc *store, const char *json, size_t len,
                    struct ek_err *err);

/* Removes the kinds of a definition by its group and plural name. Returns their storage, -1 when
 * there was none. */
int ek_kinds_undefine(struct ek_kinds *kinds, const char *group, const char *plural);

/* "group/version" or "version", into a buffer of EK_GV_SIZE. */
#define EK_GV_SIZE 320
const char *ek_kind_api_version(const struct ek_kind *kind, char buf[EK_GV_SIZE]);

/* "leases.coordination.k8s.io", or "pods" in the core group. */
const char *ek_kind_resource_name(const struct ek_kind *kind, char buf[EK_GV_SIZE]);

/* True when words (separated by blanks) holds word. */
bool ek_words_have(const char *words, const char *word);

extern const struct ek_kind ek_kinds_table[];
extern const size_t ek_kinds_table_size;

#endif
