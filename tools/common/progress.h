/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How far a long run is, on standard error. */
#ifndef RMC_TOOLS_PROGRESS_H
#define RMC_TOOLS_PROGRESS_H

/*
 * Is it time to tell? Always on a terminal, or when it was asked for; in what is
 * no terminal, a log, every ten seconds from the first call on.
 */
int progress_due(int asked);

/* What ends a line that the next one may overwrite, and what begins it */
const char *progress_end(void);
const char *progress_begin(void);

#endif /* RMC_TOOLS_PROGRESS_H */
