/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Webhook configurations as content for server-side apply: the one writer of all subjects. A
 * subject supplies the entries; this file adds what is the same for all of them: the address and
 * the CA bundle, the exempt namespaces, the owner, the labels and the timeout.
 *
 * reconcilers/webhooks/README.md says which namespaces are exempt, and why. compare.h compares a
 * configuration with that of the cluster.
 *
 * Pure. Threading: none; a writer is used by one thread.
 * Source: admissionregistration.k8s.io/v1, MutatingWebhook and ValidatingWebhook.
 */
#ifndef RECONCILERS_WEBHOOKS_CONFIGURATION_H
#define RECONCILERS_WEBHOOKS_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "reconcilers/intent.h"

/* Until requests can be answered, a registration looks again this often. */
#define EK_WEBHOOKS_NOT_READY_MS 1000

/* Where API servers call the webhooks, and what is left out. NULL and "" are the same. */
struct ek_webhooks_options {
    const char *url; /* "https://10.0.0.7:9443": called there; "": by the Service */
    const char *service_namespace, *service_name;
    int service_port;              /* 0: 443 */
    const char *ca_bundle;         /* PEM */
    const char *own_namespace;     /* always exempt */
    const char *own_namespace_uid; /* the configurations belong to the namespace */
    bool with_kube_system;         /* kube-system and kube-node-lease are not exempt */
    bool without_conditions;       /* no match conditions of users: for API servers that refuse
                                      these */
    bool with_definitions;         /* the subject's own kinds are served: validate these, too */
    int timeout_s;                 /* 0: the entry's */
};

/* One configuration while its entries are added. */
struct ek_webhooks {
    const struct ek_webhooks_options *options; /* borrowed */
    yyjson_mut_doc *doc;                       /* borrowed: of all values */
    yyjson_mut_val *content;                   /* {metadata, webhooks} */
    yyjson_mut_val *list;                      /* webhooks of content, in the order of calls */
    char *bundle;                              /* CA bundle in base64; NULL: none. Owned */
};

/* One webhook. Values are of the doc and may be added to one entry only; strings are copied. */
struct ek_webhooks_entry {
    const char *name; /* DNS subdomain, unique in the configuration */
    const char *path; /* of the URL */
    const char
        *reinvocation;     /* reinvocationPolicy; NULL: of a validating webhook, which has none */
    bool ignore_failures;  /* failurePolicy Ignore, else Fail */
    bool exact;            /* matchPolicy Exact, else Equivalent */
    bool everywhere;       /* no namespace is exempt */
    int timeout_s;         /* where the options have none; at most 30 */
    yyjson_mut_val *rules; /* list */
    yyjson_mut_val *conditions; /* list of ek_webhooks_add_condition; NULL: none */
    yyjson_mut_val *namespaces; /* namespaceSelector besides the exempt ones; NULL: all */
    yyjson_mut_val *objects;    /* objectSelector; NULL: all */
};

/* A rule for CREATE of one kind, or CREATE and UPDATE. Strings are copied. */
struct ek_webhooks_rule {
    const char *group, *version, *scope; /* scope: "Cluster", "Namespaced" or "*" */
    bool update;                         /* UPDATE besides CREATE */
    const char *resources[3];            /* NULL: none */
};

/* The namespaces whose objects no webhook is called for; names are borrowed from options or
 * constant. Returns their number. */
#define EK_WEBHOOKS_EXEMPT_MAX 3
size_t ek_webhooks_exempt(const struct ek_webhooks_options *options,
                          const char *ret_names[EK_WEBHOOKS_EXEMPT_MAX]);

/* Begins a configuration without webhooks. The content lives as long as doc. */
void ek_webhooks_begin(struct ek_webhooks *webhooks, const struct ek_webhooks_options *options,
                       yyjson_mut_doc *doc);

/* Appends a webhook. */
void ek_webhooks_add(struct ek_webhooks *webhooks, const struct ek_webhooks_entry *entry);

/* Appends the apply of content, which is copied, as the configuration of that name; the result may
 * be changed as for ek_intents_apply. */
struct ek_intent *ek_webhooks_apply(struct ek_intents *intents, const struct ek_resource *resource,
                                    const char *name, yyjson_mut_val *content);

/* Releases what the writer itself owns. The content stays. */
void ek_webhooks_end(struct ek_webhooks *webhooks);

/* A list with one rule. */
yyjson_mut_val *ek_webhooks_rules(yyjson_mut_doc *doc, const struct ek_webhooks_rule *rule);

/* Appends a match condition to list, a value of doc. */
void ek_webhooks_add_condition(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *name,
                               const char *expression);

#endif
