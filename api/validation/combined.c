/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas in schemas: kube-openapi pkg/validation/validate/schema_props.go. */
#include "api/base/mem.h"
#include "api/validation/validation-internal.h"

/* How a value fits a schema; its errors are not kept. */
struct fitting {
    bool fits;
    bool is_unsure; /* it fits but for what is not evaluated */
    size_t n_matched;
};

static struct fitting try(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                          struct ek_vbefore *was, const struct ek_vpath *path)
{
    struct ek_field_errors *errors = w->errors;
    size_t n_failed = w->n_failed, n_blocking = w->n_blocking, n_matched = w->n_matched;
    const char *why = NULL, **unknown = w->unknown;
    struct fitting found;

    w->errors = NULL;
    w->unknown = &why;
    w->n_matched = 0;
    ek_vnode_walk__(w, schema, value, was, path);
    w->unknown = unknown;
    found = (struct fitting){.fits = w->n_failed == n_failed, .n_matched = w->n_matched};
    found.is_unsure = found.fits && why;
    if (found.is_unsure && !*unknown)
        *unknown = why;
    w->errors = errors;
    w->n_failed = n_failed;
    w->n_blocking = n_blocking;
    w->n_matched = n_matched;
    return found;
}

/* What came of the schemas of anyOf or oneOf. */
struct choice {
    size_t n_fit;
    bool is_unsure;
    yyjson_val *best;  /* of those that do not fit the one that matches most, before one fits */
    yyjson_val *first; /* that fits */
    size_t n_matched;  /* of the best */
};

/* first_only: no further one is looked at after one that fits. */
static struct choice choose(struct ek_vwalk *w, yyjson_val *list, yyjson_val *value,
                            struct ek_vbefore *was, const struct ek_vpath *path, bool first_only)
{
    struct choice choice = {0};
    size_t i, n, n_first = 0;
    yyjson_val *schema;

    yyjson_arr_foreach(list, i, n, schema)
    {
        if (first_only && choice.n_fit)
            break;
        struct fitting found = try(w, schema, value, was, path);
        choice.n_fit += found.fits;
        choice.is_unsure |= found.is_unsure;
        if (found.fits && !choice.first) {
            choice.first = schema;
            choice.best = NULL;
            n_first = found.n_matched;
        }
        if (!choice.n_fit && (!choice.best || found.n_matched > choice.n_matched)) {
            choice.best = schema;
            choice.n_matched = found.n_matched;
        }
    }
    if (choice.n_fit == 1 || (first_only && choice.n_fit))
        w->n_matched += n_first;
    return choice;
}

/* The errors of the schema that comes nearest. */
static void repeat_best(struct ek_vwalk *w, const struct choice *choice, yyjson_val *value,
                        struct ek_vbefore *was, const struct ek_vpath *path)
{
    if (!choice->best)
        return;
    if (w->errors)
        ek_vnode_walk__(w, choice->best, value, was, path);
    else
        w->n_matched += choice->n_matched;
}

/* kube-openapi pkg/validation/validate/schema_props.go:Validate. */
void ek_vcombined__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                    struct ek_vbefore *was, const struct ek_vpath *path)
{
    yyjson_val *any = yyjson_obj_get(schema, "anyOf"), *one = yyjson_obj_get(schema, "oneOf");
    yyjson_val *all = yyjson_obj_get(schema, "allOf"), *not = yyjson_obj_get(schema, "not"), *part;
    size_t i, n, n_good = 0;

    w->n_matched++;
    if (!any && !one && !all && !not )
        return;
    if (yyjson_arr_size(any)) {
        const struct choice choice = choose(w, any, value, was, path, true);
        if (!choice.n_fit)
            ek_verror__(w, "",
                        "Invalid value: \"\": \"%s\" must validate at least one schema (anyOf)",
                        ek_vat__(w, path));
        repeat_best(w, &choice, value, was, path);
    }
    if (yyjson_arr_size(one)) {
        const struct choice choice = choose(w, one, value, was, path, false);
        EK_AUTOFREE char *found = choice.n_fit
                                      ? ek_xasprintf("Found %zu valid alternatives", choice.n_fit)
                                      : ek_xasprintf("Found none valid");
        if (choice.n_fit != 1 && !choice.is_unsure)
            ek_verror__(
                w, "",
                "Invalid value: \"\": \"%s\" must validate one and only one schema (oneOf). %s",
                ek_vat__(w, path), found);
        repeat_best(w, &choice, value, was, path);
    }
    yyjson_arr_foreach(all, i, n, part)
    {
        size_t before = w->n_failed;
        ek_vnode_walk__(w, part, value, was, path);
        n_good += w->n_failed == before;
    }
    if (n_good != yyjson_arr_size(all))
        ek_verror__(w, "", "Invalid value: \"\": \"%s\" must validate all the schemas (allOf)%s",
                    ek_vat__(w, path), n_good ? "" : ". None validated");
    if (!yyjson_is_obj(not ))
        return;
    const struct fitting found = try(w, not, value, was, path);
    if (found.fits && !found.is_unsure)
        ek_verror__(w, "", "Invalid value: \"\": \"%s\" must not validate the schema (not)",
                    ek_vat__(w, path));
}
