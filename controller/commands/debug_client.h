/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of controller/debug/socket.h: blocking and with a deadline, for a command that
 * does nothing else. Threading: none of it is shared.
 */
#ifndef CONTROLLER_COMMANDS_DEBUG_CLIENT_H
#define CONTROLLER_COMMANDS_DEBUG_CLIENT_H

#include "api/obj.h"

/*
 * Sends request (without a line feed) to the controller that listens at name and gives its answer
 * as a document, to be freed with yyjson_doc_free. Errors, one line with what to do: EK_E_INVAL for
 * the name or the request; EK_E_REFUSED when no controller listens (the message names the sockets
 * that exist); EK_E_TIMEOUT after timeout_ms, with the state that the kernel gives the process;
 * EK_E_FORBIDDEN when the socket is another user's; EK_E_SERVER with the text of an answer that is
 * an error; EK_E_PARSE, EK_E_IO.
 */
int ek_debug_ask(const char *name, const char *request, int64_t timeout_ms, yyjson_doc **ret_doc,
                 struct ek_err *err);

#endif
