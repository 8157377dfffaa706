// SPDX-License-Identifier: GPL-2.0
/* Owner of a file's resources: they are released when that process exits. */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include "file.h"

/**
 * rmc_file_own() - record the calling process as the owner of the file's resources
 * @f: file, locked
 *
 * Context: process that creates a resource of the file.
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
 * rmc_file_disown() - forget the owner; the file has no resources any more
 * @f: file, locked
 */
void rmc_file_disown(struct rmc_file *f)
{
	lockdep_assert_held(&f->lock);
	if (!f->owner)
		return;
	put_pid(f->owner);
	mmdrop(f->owner_mm);
	/* rmc_file_flush() reads it without the lock */
	WRITE_ONCE(f->owner, NULL);
	f->owner_mm = NULL;
}
