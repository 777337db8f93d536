/**
 * Stands in for mdast-util-to-markdown (see the alias in vite.config.ts), which remark-gfm carries along to write Markdown.
 * Here Markdown is only read, so nothing of it is ever called.
 */
export const defaultHandlers = {}
