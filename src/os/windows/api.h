/* SPDX-License-Identifier: MIT */
/*
 * The headers of Windows, in the one order in which they work. Only .c files include this: what it defines
 * as macros has no place in a header.
 */
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#include <winsock2.h>
#include <ws2tcpip.h>

#include <bcrypt.h>
#include <sddl.h>
#include <winioctl.h>
