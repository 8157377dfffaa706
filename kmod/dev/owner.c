// SPDX-License-Identifier: GPL-2.0
/* Whose process made what hangs on a file: with the end of that one all of it goes. */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include "file.h"

/**
 * rmc_file_own() - the caller makes something that hangs on the file
 * @f: file, locked
 *
 * Context: process that makes it.
 */
void rmc_file_own(struct rmc_file *f)
{
	lockdep_assert_held(&f->lock);
	if (f->owner) {
		if (f->owner != task_tgid(current) || f->owner_mm != current->mm)
			f->several = true;
		return;
	}
	mmgrab(current->mm);
	f->owner_mm = current->mm;
	WRITE_ONCE(f->owner, get_pid(task_tgid(current)));
}

/**
 * rmc_file_disown() - nothing hangs on the file any more
 * @f: file, locked
 */
void rmc_file_disown(struct rmc_file *f)
{
	lockdep_assert_held(&f->lock);
	if (!f->owner)
		return;
	put_pid(f->owner);
	mmdrop(f->owner_mm);
	/* without the lock in rmc_file_flush() */
	WRITE_ONCE(f->owner, NULL);
	f->owner_mm = NULL;
}
