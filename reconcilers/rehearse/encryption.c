/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/encryption.h"

#include "api/obj.h"

/* Takes the providers with kms out of one entry; false for a provider that is no mapping. */
static bool filter(yyjson_mut_doc *doc, yyjson_mut_val *entry, size_t *removed)
{
    yyjson_mut_val *providers = yyjson_mut_obj_get(entry, "providers"), *provider;
    yyjson_mut_arr_iter iter;
    bool good = yyjson_mut_is_arr(providers);

    yyjson_mut_arr_iter_init(providers, &iter);
    while (good && (provider = yyjson_mut_arr_iter_next(&iter))) {
        good = yyjson_mut_is_obj(provider);
        if (yyjson_mut_obj_get(provider, "kms")) {
            yyjson_mut_arr_iter_remove(&iter);
            (*removed)++;
        }
    }
    if (good && !yyjson_mut_arr_size(providers))
        yyjson_mut_obj_add_obj(doc, yyjson_mut_arr_add_obj(doc, providers), "identity");
    return good;
}

char *ek_rehearse_encryption(yyjson_val *root, size_t *ret_removed)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, root);
    yyjson_mut_val *list = yyjson_mut_obj_get(copy, "resources"), *entry;
    bool good = yyjson_mut_is_arr(list);
    yyjson_mut_arr_iter iter;
    char *text = NULL;

    *ret_removed = 0;
    yyjson_mut_arr_iter_init(list, &iter);
    while (good && (entry = yyjson_mut_arr_iter_next(&iter)))
        good = filter(doc, entry, ret_removed);
    if (good) {
        yyjson_mut_doc_set_root(doc, copy);
        text = yyjson_mut_write_opts(doc, 0, &ek_json_xalc, NULL, NULL);
    }
    yyjson_mut_doc_free(doc);
    return text;
}
