/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/event.h"

struct ek_event_regarding ek_event_about(const struct ek_obj *obj)
{
    return (struct ek_event_regarding){.api_version = ek_obj_api_version(obj),
                                       .kind = ek_obj_kind(obj),
                                       .namespace = ek_obj_namespace(obj),
                                       .name = ek_obj_name(obj),
                                       .uid = ek_obj_uid(obj),
                                       .resource_version = ek_obj_resource_version(obj)};
}
