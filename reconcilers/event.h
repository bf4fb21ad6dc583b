/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Event about an object, as data: what a decision wants recorded (events.k8s.io/v1). The frame
 * hands it to the recorder (controller/events/events.h). Pure; threading: none.
 */
#ifndef RECONCILERS_EVENT_H
#define RECONCILERS_EVENT_H

#include <stdbool.h>

#include "api/obj.h"

/* The object that an Event is about. namespace is "" for cluster-scoped objects; uid and
 * resource_version may be "". All borrowed, NULL reads as "". */
struct ek_event_regarding {
    const char *api_version, *kind, *namespace, *name, *uid, *resource_version;
};

/* Something that happened. Borrowed for the call. */
struct ek_event {
    struct ek_event_regarding regarding;
    bool warning;       /* type Warning, else Normal */
    const char *reason; /* CamelCase */
    const char *action; /* CamelCase: what was done or tried */
    const char *note;   /* for people; cut to 1024 bytes when it is recorded */
};

/* Names obj as the object of an Event; borrowed from obj. */
struct ek_event_regarding ek_event_about(const struct ek_obj *obj);

#endif
