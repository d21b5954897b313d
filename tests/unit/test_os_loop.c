/* SPDX-License-Identifier: MIT */
/* Tests of the timers of os/loop.h. */
#include "os/loop.h"

#include "test.h"

static struct loop loop = LOOP_NONE;

struct item {
	struct timer timer;
	int times;
	struct item *drops; /* NULL: none */
};

static int is_due(void *user, struct err *e)
{
	struct item *item = user;

	(void)e;
	item->times++;
	if (item->drops) {
		loop_drop_timer(&loop, &item->drops->timer);
		/* As who frees it would leave it. */
		item->drops->timer.next = &item->drops->timer;
	}
	return 0;
}

static void set(struct item *item)
{
	item->timer.due = is_due;
	item->timer.user = item;
	loop_set_timer(&loop, &item->timer, loop_now());
}

TEST(a_timer_that_was_dropped_is_not_set)
{
	struct err e = ERR_INIT;
	struct item one = { .times = 0 };

	REQUIRE(loop_init(&loop, &e) == 0 && loop_prepare_timers(&loop, &e) == 0);
	set(&one);
	loop_drop_timer(&loop, &one.timer);
	CHECK_INT(one.timer.at_ms, 0);
	CHECK_INT(loop_step(&loop, 20, &e), 0);
	CHECK_INT(one.times, 0);
	loop_done(&loop);
}

/* Each of them, whichever comes first, drops the other, or itself. */
TEST(a_timer_that_another_one_dropped_does_not_run)
{
	struct err e = ERR_INIT;
	struct item one = { .times = 0 }, two = { .drops = &one }, itself = { .drops = &itself };

	one.drops = &two;
	REQUIRE(loop_init(&loop, &e) == 0 && loop_prepare_timers(&loop, &e) == 0);
	set(&one);
	set(&two);
	set(&itself);
	for (int i = 0; i < 3; i++)
		CHECK_INT(loop_step(&loop, 20, &e), 0);
	CHECK_INT(one.times + two.times, 1);
	CHECK_INT(itself.times, 1);
	loop_done(&loop);
}
