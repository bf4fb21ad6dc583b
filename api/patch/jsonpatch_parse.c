/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/jsonpatch.h"

/* Reads a member that must be a string, if it is there. */
static int read_string(yyjson_val *op, const char *name, size_t i, struct ek_str *ret,
                       struct ek_err *err)
{
    yyjson_val *value = yyjson_obj_get(op, name);

    *ret = (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)};
    if (value && !yyjson_is_str(value))
        return ek_err_set(err, EK_E_PARSE, "operation %zu of the JSON patch: %s is not a string", i,
                          name);
    return 0;
}

static int read_op(yyjson_val *op, size_t i, yyjson_mut_doc *doc, struct ek_jsonpatch_op *ret,
                   struct ek_err *err)
{
    yyjson_val *value = yyjson_obj_get(op, "value");

    if (!yyjson_is_obj(op))
        return ek_err_set(err, EK_E_PARSE, "operation %zu of the JSON patch is not an object", i);
    int rc = read_string(op, "op", i, &ret->op, err);
    rc = rc ? rc : read_string(op, "path", i, &ret->path, err);
    rc = rc ? rc : read_string(op, "from", i, &ret->from, err);
    if (rc)
        return rc;
    ret->value = value ? yyjson_val_mut_copy(doc, value) : NULL;
    if (value && !ret->value)
        return ek_err_set(err, EK_E_NOMEM, "no memory for a JSON patch");
    return 0;
}

int ek_jsonpatch_parse(yyjson_val *patch, yyjson_mut_doc *doc, struct ek_jsonpatch_op **ret_ops,
                       size_t *ret_n, struct ek_err *err)
{
    size_t i, max, n = yyjson_arr_size(patch);
    yyjson_val *op;
    int rc = 0;

    if (!yyjson_is_arr(patch))
        return ek_err_set(err, EK_E_PARSE, "a JSON patch must be an array of operations");
    if (n > EK_JSONPATCH_OPS_MAX)
        return ek_err_set(err, EK_E_LIMIT, "a JSON patch has %zu operations, %d are the most", n,
                          EK_JSONPATCH_OPS_MAX);
    struct ek_jsonpatch_op *ops = ek_alloc((n + 1) * sizeof *ops);
    if (!ops)
        return ek_err_set(err, EK_E_NOMEM, "no memory for a JSON patch");
    yyjson_arr_foreach(patch, i, max, op)
    {
        rc = rc ? rc : read_op(op, i, doc, &ops[i], err);
    }
    if (rc) {
        ek_free(ops);
        return rc;
    }
    *ret_ops = ops;
    *ret_n = n;
    return 0;
}
