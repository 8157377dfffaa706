/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Progress of a long run, on standard error. */
#ifndef RMC_TOOLS_PROGRESS_H
#define RMC_TOOLS_PROGRESS_H

/*
 * True when progress is to be printed: always on a terminal, or when asked; in a log every
 * ten seconds from the first call on.
 */
int progress_due(int asked);

/* End of a line that the next one may overwrite */
const char *progress_end(void);
const char *progress_begin(void);

#endif /* RMC_TOOLS_PROGRESS_H */
