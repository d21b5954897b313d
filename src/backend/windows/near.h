/* SPDX-License-Identifier: MIT */
/*
 * The files of a host that a plan speaks of, and what is above them: the ones where entries for a restricted token can be
 * needed. A real disk has too many others to look at. What is below such a place and has a list that inherits nothing gets no entry,
 * so the command may not write it: there the token narrows what the policy allows. What closes files for reading has to find
 * all that lies beside, and can't do with this. Pure.
 */
#pragma once

#include "backend/windows/windows.h"
#include "plan/plan.h"

/* `*out` is `plan` with such a host; both borrow from it. */
int windows_near(struct arena *a, const struct plan *plan, struct plan *out, struct err *e)
	MUST_CHECK NONNULL;

/* Lowers `plan` by such a host. */
int windows_lower_near(struct arena *a, const struct plan *plan, windows_lower_fn *lower,
		       struct windows_lowering *out, struct err *e) MUST_CHECK NONNULL;
