// SPDX-License-Identifier: GPL-2.0
/*
 * Faults and the link model: the files of kmod/dev/debugfs.c without a kernel. attr.c shows them
 * to clients.
 */
#include <ctype.h>
#include <stdarg.h>
#include "kernel/faults.h"

/* Files: those of kmod/dev/debugfs.c */
static struct {
	const char *name;
	void *data;
	const struct file_operations *fops;
} files[8];

static u32 count;

/**
 * debugfs_create_file() - let clients use a file
 * @name: name; must stay
 * @mode: ignored: clients must be administrators
 * @parent: ignored
 * @data: for the functions
 * @fops: functions
 */
void debugfs_create_file(const char *name, int mode, struct dentry *parent, void *data,
			 const struct file_operations *fops)
{
	if (count == ARRAY_SIZE(files))
		return;
	files[count].name = name;
	files[count].data = data;
	files[count++].fops = fops;
}

/**
 * kstrtou64() - as the kernel's: the whole string is the number, a newline may follow
 * @s: text
 * @base: 0: as in C
 * @value: out
 *
 * Return: 0, -EINVAL, -ERANGE.
 */
int kstrtou64(const char *s, unsigned int base, u64 *value)
{
	char *end;
	u64 v;

	if (!isdigit((unsigned char)s[*s == '+']))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, base);
	if (*end == '\n')
		end++;
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*value = v;
	return 0;
}

/**
 * kstrtou32() - the same for 32 bits
 * @s: text
 * @base: 0: as in C
 * @value: out
 *
 * Return: 0, -EINVAL, -ERANGE.
 */
int kstrtou32(const char *s, unsigned int base, u32 *value)
{
	u64 v;
	int err = kstrtou64(s, base, &v);

	if (err)
		return err;
	if (v > U32_MAX)
		return -ERANGE;
	*value = v;
	return 0;
}

/**
 * seq_printf() - add to the text of a file
 * @m: file
 * @fmt: as of printf(), not checked
 */
void seq_printf(struct seq_file *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(m->stream, fmt, ap);
	va_end(ap);
}

/**
 * single_open() - open a file whose text is made at once
 * @filp: file
 * @show: makes it
 * @data: for @show
 *
 * Return: 0 or -ENOMEM.
 */
int single_open(struct file *filp, int (*show)(struct seq_file *m, void *unused), void *data)
{
	struct seq_file *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->show = show;
	m->private = data;
	filp->private_data = m;
	return 0;
}

/**
 * single_release() - mirror of single_open()
 * @inode: not used
 * @filp: file
 *
 * Return: 0.
 */
int single_release(struct inode *inode, struct file *filp)
{
	free(filp->private_data);
	return 0;
}

static int find(const char *name)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!strcmp(files[i].name, name))
			return i;
	return -ENOENT;
}

static int show(u32 i, struct seq_file *m)
{
	u64 value;
	int err;

	if (!files[i].fops->get)
		return m->show(m, NULL);
	err = files[i].fops->get(files[i].data, &value);
	seq_printf(m, "%llu\n", value);
	return err;
}

/**
 * rmcd_fault_read() - what a file says
 * @name: name, any
 * @text: out: lines; the caller frees it
 *
 * Return: 0, -ENOENT no such file, -ENOMEM.
 */
int rmcd_fault_read(const char *name, char **text)
{
	int i = find(name), err = 0;
	struct seq_file number = { };
	struct seq_file *m = &number;
	struct file filp = { };

	if (i < 0)
		return i;
	if (files[i].fops->open) {
		struct inode inode = { .i_private = files[i].data };

		err = files[i].fops->open(&inode, &filp);
		if (err)
			return err;
		m = filp.private_data;
	}
	m->stream = open_memstream(&m->text, &m->bytes);
	if (m->stream) {
		err = show(i, m);
		if (fclose(m->stream) && !err)
			err = -ENOMEM;
	} else {
		err = -ENOMEM;
	}
	if (err)
		free(m->text);
	else
		*text = m->text;
	if (files[i].fops->release)
		files[i].fops->release(NULL, &filp);
	return err;
}

/**
 * rmcd_fault_write() - write a line to a file
 * @name: name, any
 * @line: text, any
 *
 * May take a second for each link that was changed, until it has delivered what it held.
 *
 * Return: 0, -ENOENT no such file, or what the file's function says.
 */
int rmcd_fault_write(const char *name, const char *line)
{
	int i = find(name), err;
	struct inode inode;
	struct file filp;
	ssize_t ret;
	u64 value;

	if (i < 0)
		return i;
	if (files[i].fops->set) {
		err = kstrtou64(line, 0, &value);
		return err ?: files[i].fops->set(files[i].data, value);
	}
	inode.i_private = files[i].data;
	err = files[i].fops->open(&inode, &filp);
	if (err)
		return err;
	ret = files[i].fops->write(&filp, line, strlen(line), NULL);
	files[i].fops->release(&inode, &filp);
	return ret < 0 ? ret : 0;
}
