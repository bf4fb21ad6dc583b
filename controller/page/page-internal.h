/* SPDX-License-Identifier: Apache-2.0 */
/* page.css and page.js, as ek-page-files makes constants of them. */
#ifndef CONTROLLER_PAGE_PAGE_INTERNAL_H
#define CONTROLLER_PAGE_PAGE_INTERNAL_H

extern const char ek_page_style[], ek_page_script[];

#endif
