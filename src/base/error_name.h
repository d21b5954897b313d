/* SPDX-License-Identifier: MIT */
/* Names of the system's errors, for programs that read a report. */
#pragma once

/* "EROFS"; NULL for 0 and for errors that no refusal causes. */
const char *error_name(int os_error);
