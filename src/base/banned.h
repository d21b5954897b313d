/* SPDX-License-Identifier: MIT */
/*
 * Functions that can't be used safely, or whose result depends on something
 * that a sandbox must not depend on (locale, global state). The build forces
 * this header into every file below src/, so a use is a compile error that
 * names the function.
 */
#pragma once

/* Read the system's headers first: they may declare or even use these functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(function) sorry_##function##_is_banned_see_base_banned_h

#undef strcpy
#define strcpy(a, b) BANNED(strcpy)
#undef strcat
#define strcat(a, b) BANNED(strcat)
#undef strncpy
#define strncpy(a, b, n) BANNED(strncpy)
#undef strncat
#define strncat(a, b, n) BANNED(strncat)
#undef strdup
#define strdup(s) BANNED(strdup)
#undef strndup
#define strndup(s, n) BANNED(strndup)
#undef strtok
#define strtok(s, d) BANNED(strtok)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef sscanf
#define sscanf(...) BANNED(sscanf)
#undef gets
#define gets(s) BANNED(gets)
#undef atoi
#define atoi(s) BANNED(atoi)
#undef atol
#define atol(s) BANNED(atol)
#undef atof
#define atof(s) BANNED(atof)
#undef strtod
#define strtod(s, e) BANNED(strtod)
#undef system
#define system(s) BANNED(system)
#undef popen
#define popen(c, m) BANNED(popen)
#undef tmpnam
#define tmpnam(s) BANNED(tmpnam)
#undef mktemp
#define mktemp(s) BANNED(mktemp)
#undef alloca
#define alloca(n) BANNED(alloca)
#undef setenv
#define setenv(n, v, o) BANNED(setenv)
#undef putenv
#define putenv(s) BANNED(putenv)
#undef rand
#define rand() BANNED(rand)
