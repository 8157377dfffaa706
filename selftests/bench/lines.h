/* SPDX-License-Identifier: GPL-2.0 */
/* Which cache lines a stage touches; nothing unless built with RMC_LINES. */
#ifndef LINES_H
#define LINES_H

/* In the order data flows; the first and the last run on the application's CPU. */
enum lines_stage {
	LINES_POST,
	LINES_RGP,
	LINES_RRPP,
	LINES_RCP,
	LINES_POLL,
	LINES_STAGES,
	LINES_NONE = LINES_STAGES,
};

#ifdef RMC_LINES
#define lines_counted	1
void lines_stage(enum lines_stage stage);	/* of the code that follows */
void lines_operation(void);			/* the next operation begins */
void lines_reset(void);				/* counts, not caches */
/* Distinct lines per operation since the reset, summed up; LINES_NONE: of all stages */
double lines_touched(int stage);
double lines_moved(void);			/* between the CPUs */
#else
#define lines_counted	0
static inline void lines_stage(enum lines_stage stage)
{
}

static inline void lines_operation(void)
{
}

static inline void lines_reset(void)
{
}

static inline double lines_touched(int stage)
{
	return 0;
}

static inline double lines_moved(void)
{
	return 0;
}
#endif

#endif
