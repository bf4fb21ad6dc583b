/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a finished plan into one block. The same code runs twice: first it only adds up sizes,
 * then it copies.
 */
#include <stdalign.h>
#include <string.h>

#include "api/cel/plan/plan.h"

struct pack {
    unsigned char *block; /* NULL while sizes are added up */
    size_t used;
    bool failed;
};

/* Room for size octets; NULL while sizes are added up. */
static void *take(struct pack *pack, size_t size)
{
    size_t align = alignof(max_align_t);
    void *room = pack->block ? pack->block + pack->used : NULL;

    pack->used += (size + align - 1) / align * align;
    return room;
}

static const void *copy(struct pack *pack, const void *from, size_t size)
{
    void *room = take(pack, size);

    return room && size ? memcpy(room, from, size) : room;
}

static const char *copy_text(struct pack *pack, const char *s)
{
    return copy(pack, s, strlen(s) + 1);
}

/* ---- Constants ------------------------------------------------------------------------------- */

static const struct ek_cel_type *copy_type(struct pack *pack, const struct ek_cel_type *type)
{
    struct ek_cel_type made = *type;

    made.name = copy_text(pack, type->name);
    if (type->n) {
        const struct ek_cel_type **params = take(pack, type->n * sizeof(void *));
        for (uint32_t i = 0; i < type->n; i++) {
            const struct ek_cel_type *param = copy_type(pack, type->params[i]);
            if (params)
                params[i] = param;
        }
        made.params = params;
    }
    return copy(pack, &made, sizeof made);
}

static void copy_value(struct pack *pack, struct ek_cel_val *value);

/* Constant lists and maps are never extended: cap 0. */
static void copy_list(struct pack *pack, struct ek_cel_val *list)
{
    const struct ek_cel_items *from = list->items;
    struct ek_cel_items *items = take(pack, sizeof *items + list->n * sizeof from->v[0]);

    if (items)
        *items = (struct ek_cel_items){.used = list->n};
    for (uint32_t i = 0; i < list->n; i++) {
        struct ek_cel_val v = from->v[i];
        copy_value(pack, &v);
        if (items)
            items->v[i] = v;
    }
    list->items = items;
}

static void copy_map(struct pack *pack, struct ek_cel_val *map)
{
    const struct ek_cel_entries *from = map->entries;
    struct ek_cel_entries *e = take(pack, sizeof *e + (size_t)2 * map->n * sizeof from->v[0]);

    if (e)
        *e = (struct ek_cel_entries){.used = map->n};
    for (uint32_t i = 0; i < 2 * map->n; i++) {
        struct ek_cel_val v = from->v[i];
        copy_value(pack, &v);
        if (e)
            e->v[i] = v;
    }
    map->entries = e;
}

static void copy_fault(struct pack *pack, struct ek_cel_val *error)
{
    struct ek_cel_fault fault = *error->fault;

    fault.message = copy_text(pack, fault.message);
    error->fault = copy(pack, &fault, sizeof fault);
}

static void copy_value(struct pack *pack, struct ek_cel_val *value)
{
    switch (value->kind) {
    case EK_CEL_STRING:
    case EK_CEL_BYTES:
        value->s = copy(pack, value->s, value->n);
        break;
    case EK_CEL_TYPE:
        value->type = copy_type(pack, value->type);
        break;
    case EK_CEL_LIST:
        copy_list(pack, value);
        break;
    case EK_CEL_MAP:
        copy_map(pack, value);
        break;
    case EK_CEL_ERROR:
        copy_fault(pack, value);
        break;
    case EK_CEL_OPTIONAL:
    case EK_CEL_STRUCT:
    case EK_CEL_OPAQUE: /* no constant is folded to these */
        pack->failed = true;
        break;
    default:
        break;
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const void *copy_vec(struct pack *pack, const struct ek_cel_vec *vec, size_t size)
{
    return copy(pack, vec->data, vec->len * size);
}

static void pack_ops(struct pack *pack, const struct ek_cel_planner *p,
                     struct ek_cel_program *program)
{
    struct ek_cel_op *ops = take(pack, p->ops.len * sizeof *ops);

    for (uint32_t i = 0; i < p->ops.len; i++) {
        struct ek_cel_op op = ((const struct ek_cel_op *)p->ops.data)[i];
        if (op.code == EK_CEL_I_CONST)
            copy_value(pack, &op.value);
        if (ops)
            ops[i] = op;
    }
    program->ops = ops;
}

static void pack_quals(struct pack *pack, const struct ek_cel_planner *p,
                       struct ek_cel_program *program)
{
    struct ek_cel_qual *quals = take(pack, p->quals.len * sizeof *quals);

    for (uint32_t i = 0; i < p->quals.len; i++) {
        struct ek_cel_qual q = ((const struct ek_cel_qual *)p->quals.data)[i];
        if (q.kind != EK_CEL_Q_OP) {
            copy_value(pack, &q.key);
            q.missing.message = copy_text(pack, q.missing.message);
        }
        if (quals)
            quals[i] = q;
    }
    program->quals = quals;
}

static void pack_calls(struct pack *pack, const struct ek_cel_planner *p,
                       struct ek_cel_program *program)
{
    struct ek_cel_call *calls = take(pack, p->calls.len * sizeof *calls);

    for (uint32_t i = 0; i < p->calls.len; i++) {
        struct ek_cel_call call = ((const struct ek_cel_call *)p->calls.data)[i];
        if (!call.function) /* a declared one's name is the environment's */
            call.name = copy_text(pack, call.name);
        if (calls)
            calls[i] = call;
    }
    program->calls = calls;
}

static void pack_sets(struct pack *pack, const struct ek_cel_planner *p,
                      struct ek_cel_program *program)
{
    struct ek_cel_set *sets = take(pack, p->sets.len * sizeof *sets);

    for (uint32_t i = 0; i < p->sets.len; i++) {
        struct ek_cel_set set = ((const struct ek_cel_set *)p->sets.data)[i];
        struct ek_cel_val *slots = take(pack, (set.mask + (size_t)1) * sizeof *slots);
        for (uint32_t k = 0; k <= set.mask; k++) {
            struct ek_cel_val v = set.slots[k];
            if (v.kind != EK_CEL_ERROR)
                copy_value(pack, &v);
            if (slots)
                slots[k] = v;
        }
        set.slots = slots;
        if (sets)
            sets[i] = set;
    }
    program->sets = sets;
}

static void pack_structs(struct pack *pack, const struct ek_cel_planner *p,
                         struct ek_cel_program *program)
{
    struct ek_cel_struct_names *structs = take(pack, p->structs.len * sizeof *structs);

    for (uint32_t i = 0; i < p->structs.len; i++) {
        struct ek_cel_struct_names names = ((const struct ek_cel_struct_names *)p->structs.data)[i];
        const char **fields = take(pack, names.n * sizeof *fields);
        for (uint32_t k = 0; k < names.n; k++) {
            const char *name = copy_text(pack, names.fields[k]);
            if (fields)
                fields[k] = name;
        }
        names.fields = fields;
        names.type = copy_text(pack, names.type);
        if (structs)
            structs[i] = names;
    }
    program->structs = structs;
}

static void pack_reads(struct pack *pack, const struct ek_cel_vec *vec,
                       struct ek_cel_program *program)
{
    struct ek_cel_read *reads = take(pack, vec->len * sizeof *reads);

    for (uint32_t i = 0; i < vec->len; i++) {
        struct ek_cel_read read = ((const struct ek_cel_read *)vec->data)[i];
        read.path = copy_text(pack, read.path);
        if (reads)
            reads[i] = read;
    }
    program->reads = reads;
    program->n_reads = vec->len;
}

static void pack_all(struct pack *pack, const struct ek_cel_planner *p,
                     const struct ek_cel_vec *reads, const char *type,
                     struct ek_cel_program *program)
{
    char *text;

    take(pack, sizeof *program);
    pack_calls(pack, p, program);
    pack_ops(pack, p, program);
    pack_quals(pack, p, program);
    program->kids = copy_vec(pack, &p->kids, sizeof(uint32_t));
    program->folds = copy_vec(pack, &p->folds, sizeof(struct ek_cel_fold));
    program->optionals = copy_vec(pack, &p->optionals, sizeof(bool));
    program->regexes = copy_vec(pack, &p->regexes, sizeof(struct ek_cel_regex *));
    pack_sets(pack, p, program);
    pack_structs(pack, p, program);
    pack_reads(pack, reads, program);
    program->type = copy_text(pack, type);
    text = take(pack, p->ast->len + 1);
    if (text) {
        memcpy(text, p->ast->text, p->ast->len);
        text[p->ast->len] = '\0';
    }
    program->text = text;
}

/* Compiled regular expressions are found by the address of their pattern, which has moved. */
static void find_patterns(const struct ek_cel_program *program)
{
    struct ek_cel_call *calls = (struct ek_cel_call *)(uintptr_t)program->calls;

    for (uint32_t i = 0; i < program->n_ops; i++) {
        const struct ek_cel_op *op = &program->ops[i];
        if (op->code == EK_CEL_I_CALLN && calls[op->c].regex)
            calls[op->c].regex_text = program->ops[program->kids[op->a + 1]].value.s;
    }
}

struct ek_cel_program *ek_cel_pack(struct ek_cel_planner *p, uint32_t root,
                                   const struct ek_cel_vec *reads, const char *type)
{
    struct ek_cel_program scratch = {0}, *program;
    struct pack pack = {0};

    pack_all(&pack, p, reads, type, &scratch);
    if (pack.failed || !(pack.block = ek_realloc(NULL, pack.used)))
        return NULL;
    program = (struct ek_cel_program *)pack.block;
    *program = (struct ek_cel_program){.root = root, .n_ops = p->ops.len, .size = pack.used};
    pack.used = 0;
    pack_all(&pack, p, reads, type, program);
    program->n_locals = p->n_locals;
    if (p->regexes.len)
        find_patterns(program);
    program->n_regexes = p->regexes.len;
    for (uint32_t i = 0; i < p->regexes.len; i++)
        program->size += ek_cel_regex_size(program->regexes[i]);
    program->env = ek_cel_env_ref(p->env);
    atomic_init(&program->refs, 1);
    return program;
}
