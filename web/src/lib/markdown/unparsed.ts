/**
 * Stands in for mdast-util-to-markdown and markdown-table (see the aliases in vite.config.ts), which remark-gfm carries
 * along to write Markdown. Here Markdown is only read, so nothing of them is ever called.
 */
export const defaultHandlers = {}
export const markdownTable = () => ''
